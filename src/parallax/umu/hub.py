"""A data set of the Hugging Face hub, at one commit."""

from pathlib import Path
from typing import NamedTuple

from parallax.errors import DataError


class Snapshot(NamedTuple):
    """A folder with a data set's parquet files, and the commit that they are of."""

    folder: Path
    commit: str


def fetch_snapshot(name: str, revision: str) -> Snapshot:
    """Fetch a data set's parquet files, or find them in the cache when the hub is out of reach.

    A branch or tag is resolved first, so that all files are of one commit. Address, cache and
    token come from the environment (HF_ENDPOINT, HF_HOME, HF_TOKEN).

    Raises:
        DataError: there is no such data set or revision, or it can't be fetched.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    place = f"data set {name!r} at revision {revision!r}"
    try:
        folder = snapshot_download(
            name, repo_type="dataset", revision=revision, allow_patterns=["*.parquet"]
        )
    except GatedRepoError:
        raise DataError(f"{place}: ask for access on its page, then set HF_TOKEN") from None
    except RevisionNotFoundError:
        raise DataError(f"{place}: no such branch, tag or commit; look up data.revision") from None
    except RepositoryNotFoundError:
        raise DataError(
            f"{place}: no such data set, or no access; look up data.hub or set HF_TOKEN"
        ) from None
    except LocalEntryNotFoundError as error:
        reason = type(error.__cause__ or error).__name__
        raise DataError(
            f"{place}: the hub can't be reached and the cache lacks it ({reason})"
        ) from None
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise DataError(f"{place}: {' '.join(str(error).split())}") from None
    return Snapshot(Path(folder), Path(folder).name)
