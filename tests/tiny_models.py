"""Tiny models of every family, with real processors, built from configurations.

`build(name, texts)` gives a model and its processor; `model.save_pretrained` and
`processor.save_pretrained` write them as checkpoints are published. Nothing needs torchvision.
"""

import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.llava_next.image_processing_pil_llava_next import (
    LlavaNextImageProcessorPil,
)
from transformers.models.llava_onevision.image_processing_pil_llava_onevision import (
    LlavaOnevisionImageProcessorPil,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil
from transformers.models.smolvlm.processing_smolvlm import DEFAULT_CHAT_TEMPLATE as SMOLVLM_TEMPLATE

from parallax.models.families import FAMILIES

# Chat templates as they are published, without videos and tools.
QWEN_TEMPLATE = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
    "<|im_start|>{{ message['role'] }}\n{% if message['content'] is string %}"
    "{{ message['content'] }}<|im_end|>\n{% else %}{% for content in message['content'] %}"
    "{% if content['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
IDEFICS3_TEMPLATE = (
    "<|begin_of_text|>{% for message in messages %}{{message['role'].capitalize()}}"
    "{% if message['content'][0]['type'] == 'image' %}{{':'}}{% else %}{{': '}}{% endif %}"
    "{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n"
    "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)
# llava-1.5-7b-hf.
LLAVA_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] != 'system' %}"
    "{{ message['role'].upper() + ': '}}{% endif %}{# Render all images first #}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'image') %}"
    "{{ '<image>\n' }}{% endfor %}{# Render all text next #}"
    "{% if message['role'] != 'assistant' %}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}"
    "{{ content['text'] + ' '}}{% endfor %}{% else %}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}"
    "{% generation %}{{ content['text'] + ' '}}{% endgeneration %}{% endfor %}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)
# llava-v1.6-mistral-7b-hf.
MISTRAL_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'user' %}{{ '[INST] ' }}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'image') %}"
    "{{ '<image>\n' }}{% endfor %}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}"
    "{{ content['text'] + ' [/INST]' }}{% endfor %}{% elif message['role'] == 'assistant' %}"
    "{{ ' ' + message['content'][0]['text'] + '</s> '}}{% endif %}{% endfor %}"
)
# llava-onevision-qwen2 and llava-interleave-qwen: a written turn begins "assistant \n", an opened
# one "assistant\n".
ONEVISION_TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + ' '}}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'image') %}"
    "{{ '<image>' }}{% endfor %}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}"
    "{{ '\n' + content['text'] }}{% endfor %}{{'<|im_end|>'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

LANGUAGE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.2,
}
TOWER = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 16,
    "patch_size": 8,
    "initializer_range": 0.2,
}
PINPOINTS = [[16, 32], [32, 16], [32, 32]]
LLAMA = ("<pad>", "<s>", "</s>", "<image>")
CHATML = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
SMOL = (
    *("<|endoftext|>", "<|begin_of_text|>", "<|im_start|>", "<end_of_utterance>"),
    *("<fake_token_around_image>", "<image>", "<global-img>"),
    *(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)),
)


def train_tokenizer(texts, special, eos, bos=None, vocabulary=600, template=None):
    """A byte-level BPE of the texts; `special[0]` pads, `bos` is put before a text."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    if bos:
        place = [(bos, bpe.token_to_id(bos))]
        bpe.post_processor = processors.TemplateProcessing(f"{bos} $A", special_tokens=place)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=special[0],
        eos_token=eos,
        bos_token=bos,
        chat_template=template,
    )


def language(tokenizer):
    """The language model's part of a configuration."""
    ids = {"bos": tokenizer.bos_token_id, "eos": tokenizer.eos_token_id}
    ids["pad"] = tokenizer.pad_token_id
    named = {f"{name}_token_id": token for name, token in ids.items()}
    return {**LANGUAGE, "vocab_size": len(tokenizer), **named}


def llava(texts):
    """LLaVA-1.5: CLIP, whose class token is cut off again, before Llama."""
    tokenizer = train_tokenizer(texts, LLAMA, "</s>", "<s>")
    images = CLIPImageProcessorPil(
        size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}
    )
    processor = transformers.LlavaProcessor(
        images,
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**TOWER),
        text_config=transformers.LlamaConfig(**language(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-2,
        vision_feature_select_strategy="default",
    )
    return config, processor


def llava_interleave(texts):
    """LLaVA-Interleave, of type llava: SigLIP before Qwen2, and a chat template."""
    tokenizer = train_tokenizer(texts, (*CHATML, "<image>"), "<|im_end|>")
    processor = transformers.LlavaProcessor(
        SiglipImageProcessorPil(size={"height": 16, "width": 16}),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="full",
        chat_template=ONEVISION_TEMPLATE,
    )
    config = transformers.LlavaConfig(
        vision_config=transformers.SiglipVisionConfig(**TOWER, vision_use_head=False),
        text_config=transformers.Qwen2Config(**language(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
    )
    return config, processor


def llava_next(texts):
    """LLaVA-NeXT: CLIP on tiles, before Mistral."""
    tokenizer = train_tokenizer(texts, LLAMA, "</s>", "<s>")
    images = LlavaNextImageProcessorPil(
        size={"shortest_edge": 16},
        crop_size={"height": 16, "width": 16},
        image_grid_pinpoints=PINPOINTS,
    )
    processor = transformers.LlavaNextProcessor(
        images,
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=MISTRAL_TEMPLATE,
    )
    config = transformers.LlavaNextConfig(
        vision_config=transformers.CLIPVisionConfig(**TOWER),
        text_config=transformers.MistralConfig(**language(tokenizer), head_dim=8),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=PINPOINTS,
    )
    return config, processor


def llava_onevision(texts):
    """LLaVA-OneVision: SigLIP on tiles, before Qwen2."""
    tokenizer = train_tokenizer(texts, (*CHATML, "<image>", "<video>"), "<|im_end|>")
    images = LlavaOnevisionImageProcessorPil(
        size={"height": 16, "width": 16}, image_grid_pinpoints=PINPOINTS
    )
    processor = FAMILIES["llava_onevision"].processor()(
        images,
        tokenizer,
        num_image_tokens=4,
        vision_feature_select_strategy="full",
        chat_template=ONEVISION_TEMPLATE,
    )
    config = transformers.LlavaOnevisionConfig(
        vision_config=transformers.SiglipVisionConfig(**TOWER, vision_use_head=False),
        text_config=transformers.Qwen2Config(**language(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        vision_feature_layer=-1,
        image_grid_pinpoints=PINPOINTS,
    )
    return config, processor


def qwen2_vl(texts, model_type="qwen2_vl"):
    """Qwen2-VL or Qwen2.5-VL: patches of 4 px, of which 2 x 2 make a token."""
    seen = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    tokenizer = train_tokenizer(texts, (*CHATML, *seen), "<|im_end|>")
    images = Qwen2VLImageProcessorPil(
        patch_size=4, merge_size=2, size={"shortest_edge": 64, "longest_edge": 1024}
    )
    processor = FAMILIES[model_type].processor()(images, tokenizer, chat_template=QWEN_TEMPLATE)
    tower = {"depth": 2, "num_heads": 2, "patch_size": 4, "initializer_range": 0.2}
    if model_type == "qwen2_vl":
        tower |= {"embed_dim": 16, "hidden_size": 32, "mlp_ratio": 2}
        whole = transformers.Qwen2VLConfig
    else:
        tower |= {"hidden_size": 16, "out_hidden_size": 32, "intermediate_size": 32}
        tower |= {"window_size": 16, "fullatt_block_indexes": [1]}
        whole = transformers.Qwen2_5_VLConfig
    config = whole(
        text_config={
            **language(tokenizer),
            "rope_parameters": {"rope_type": "default", "mrope_section": [2, 1, 1]},
        },
        vision_config=tower,
        **{
            f"{name}_token_id": tokenizer.convert_tokens_to_ids(token)
            for name, token in zip(
                ("vision_start", "vision_end", "image", "video"), seen, strict=True
            )
        },
    )
    return config, processor


def qwen2_5_vl(texts):
    """Qwen2.5-VL: attention in windows of 16 px but for the last layer."""
    return qwen2_vl(texts, "qwen2_5_vl")


def idefics3(texts):
    """Idefics3: tiles of 16 px, of which 2 x 2 patches make one token."""
    tokenizer = train_tokenizer(texts, SMOL, "<end_of_utterance>", "<|begin_of_text|>", 700)
    images = Idefics3ImageProcessorPil(
        size={"longest_edge": 32}, max_image_size={"longest_edge": 16}
    )
    processor = transformers.Idefics3Processor(
        images, tokenizer, image_seq_len=1, chat_template=IDEFICS3_TEMPLATE
    )
    return _tiles(transformers.Idefics3Config, tokenizer), processor


def smolvlm(texts):
    """SmolVLM2: as Idefics3, with its own image processor."""
    tokenizer = train_tokenizer(texts, SMOL, "<end_of_utterance>", vocabulary=700)
    images = SmolVLMImageProcessorPil(
        size={"longest_edge": 32}, max_image_size={"longest_edge": 16}
    )
    processor = FAMILIES["smolvlm"].processor()(
        images, tokenizer, image_seq_len=1, chat_template=SMOLVLM_TEMPLATE
    )
    return _tiles(transformers.SmolVLMConfig, tokenizer), processor


def _tiles(whole, tokenizer):
    return whole(
        text_config=transformers.LlamaConfig(**language(tokenizer)),
        vision_config=TOWER,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
    )


BUILDERS = {
    "llava": llava,
    "llava_interleave": llava_interleave,
    "llava_next": llava_next,
    "llava_onevision": llava_onevision,
    "qwen2_vl": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "idefics3": idefics3,
    "smolvlm": smolvlm,
}


def build(name, texts, seed=0):
    """A model of this name with weights drawn from the seed, and its processor."""
    config, processor = BUILDERS[name](list(texts))
    return build_model(config, seed), processor


def build_model(config, seed=0):
    """A model with weights drawn from the seed."""
    import torch
    from transformers import AutoModelForImageTextToText

    torch.manual_seed(seed)
    return AutoModelForImageTextToText.from_config(config).eval()


CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def llama(texts, template=None):
    """A Llama without a vision tower, and its tokenizer, with a chat template or without."""
    tokenizer = (
        train_tokenizer(texts, CHATML, "<|im_end|>", template=template)
        if template
        else train_tokenizer(texts, LLAMA[:3], "</s>", "<s>")
    )
    return transformers.LlamaConfig(**language(tokenizer)), tokenizer


def build_text_model(config, seed=0):
    """A causal language model with weights drawn from the seed."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    return AutoModelForCausalLM.from_config(config).eval()
