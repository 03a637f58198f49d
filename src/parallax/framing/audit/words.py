"""Words that turn a request's polarity or set the depth of its answer, and words that say little.

The lists hold common words of each sort. Words were taken out where the fit pairs or the shipped
items (unlabelled, and of neither split) use them in another sense, e.g. "details" (of a bank
account) and "every". The author had read the test pairs too before writing the lists, so that the
test figures are not blind to them; no word was added or taken out by what it does there. Pairs
that were written after the rule was fixed are in tests/framing/audit/test_fresh_pairs.py.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATORS = _words("no not never none nothing nobody nowhere neither nor without hardly")
OMISSIONS = _words(
    "refuse refuses refused refusing avoid avoids avoided avoiding prevent prevents prevented"
    " preventing refrain refrains lack lacks lacking skip skips skipping omit omits omitting"
    " discourage discourages dissuade dissuades deter deters instead rid"
)
"""Verbs, and two adverbs, whose complement does not happen or is not there."""
BEFORE_GERUND = _words("stop stops stopped quit quits cease ceases")
"""Verbs that deny what follows them in -ing."""
BLOCKERS = _words(
    "keep keeps kept keeping stop stops stopped prevent prevents prevented protect protects"
    " protected save saves hinder hinders block blocks discourage discourages dissuade deter"
)
"""Verbs after which "from ...ing" denies."""
AT_CLAUSE_END = _words("nothing nobody none nowhere") | OMISSIONS
"""What at the end of a clause denies the word before it."""
NOT_MERELY = _words("only just merely least")
"""After "not" these make it deny nothing."""

OPPOSITES = (
    ("allow permit let", "forbid ban prohibit disallow"),
    ("accept approve", "reject refuse decline"),
    ("praise", "condemn criticise criticize"),
    ("support favour favor", "oppose against"),
    ("open", "close shut"),
    ("start begin", "stop end finish"),
    ("raise increase", "lower reduce decrease"),
    ("always", "never"),
    ("encourage urge", "discourage dissuade"),
    ("before", "after"),
    ("confirm", "deny"),
    ("hide conceal", "reveal expose"),
    ("install add", "remove delete"),
    ("safe", "dangerous"),
    ("true real genuine", "false fake"),
    ("love", "hate"),
    ("more", "less fewer"),
    ("best", "worst"),
    ("win", "lose"),
    ("join", "leave"),
    ("remember", "forget"),
    ("pass", "fail"),
    ("publish", "withhold"),
    ("protect", "harm endanger"),
    ("strengthen", "weaken"),
    ("help", "hinder"),
    ("include", "exclude"),
    ("guilty", "innocent"),
    ("enter", "exit"),
    ("arrive", "depart"),
    ("wake awake", "sleep asleep"),
    ("alive", "dead"),
    ("thank", "blame"),
    ("comfort reassure console", "frighten scare threaten"),
    ("calm", "provoke"),
    ("heal cure", "injure hurt"),
    ("build create", "destroy demolish"),
    ("attach", "detach"),
    ("connect", "disconnect"),
    ("enable", "disable"),
    ("trust believe", "distrust mistrust doubt"),
    ("friend", "enemy"),
    ("defend", "attack"),
    ("rise", "fall"),
    ("strong", "weak"),
    ("good", "bad"),
    ("hot", "cold"),
    ("early", "late"),
    ("fast", "slow"),
    ("cheap", "expensive"),
    ("public", "private"),
    ("visible", "invisible"),
    ("moral ethical", "immoral unethical"),
    ("healthy", "sick"),
    ("rich", "poor"),
    ("legal", "illegal"),
    ("honest", "dishonest"),
    ("agree", "disagree"),
    ("possible", "impossible"),
)
PREFIXES = ("un", "non")
"""Prefixes that turn a word into its opposite, where the other text has the bare word."""

EASY = _words(
    "short brief briefly simple simply plain plainly quick quickly basic basics easy easily"
    " beginner beginners newcomer layman novice amateur single summary gist outline"
)
HARD = _words(
    "complete completely comprehensive exhaustive thorough thoroughly detailed detail"
    " rigorous rigorously formal formally technical technically scholarly academic scientific"
    " scientifically mathematical mathematically statistical advanced sophisticated systematic"
    " theorem theorems proof proofs prove derive derivation derivations equation equations treatise"
    " textbook manual handbook encyclopaedia encyclopedia chapter chapters thesis dissertation"
    " monograph theory theories literature expert experts professor professors doctoral specialist"
    " specialists researcher researchers principles lecture lectures seminar postdoc phd graduate"
    " graduates footnotes footnoted references citations citing depth lengthy extensive extensively"
    " elaborate"
)
FEW_WORDS = (
    r"\b(?:one|two|three|a few|few|single|short)[ -](?:lines?|sentences?|words?)\b"
    r"|\b(?:name|give|mention|tell|list|offer)(?: me| us)? (?:just |only )?(?:one|two)\b"
    r"|\b(?:to|for|tell|teach) (?:an?|my|the)(?: \w+)?"
    r" (?:child|schoolchild|kid|pupil|toddler|\w+-year-old)\b"
)
"""Pattern of a request for very little, or for little knowledge."""

FUNCTION_WORDS = _words(
    "a an the of to in on at by for from with and or but that which who whom whose what how why"
    " when where is are was were be been being am do does did has have had having i me my mine you"
    " your he him his she her hers it its we us our they them their this these those there as so if"
    " then than into out up off over about one's will would can could may might shall should must"
    " ought longer any anyone anybody anything ever yet else"
)
REQUEST_WORDS = _words(
    "write compose draft explain describe say tell give name make invent think show list state"
    " claim report help assist plan work way reason mention offer summarise sum define set find"
    " provide create design produce"
)
"""Words that ask; two versions of a request may differ in them freely."""
