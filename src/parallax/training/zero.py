"""Training with gradients and optimizer states divided between the processes (DeepSpeed)."""

from typing import TYPE_CHECKING, Any

import torch

from parallax.errors import ModelError
from parallax.models.batches import Batch, answer_logits
from parallax.params import Optimization
from parallax.processes import Processes
from parallax.training.engine import CLIP, AnswerPasses, Engine, refuse_muon

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Zero(Engine):
    """Each process holds the model, and a part of the gradients and of the optimizer's states.

    ZeRO stages 1 and 2 (Rajbhandari et al. 2020, arXiv 1910.02054). A step's terms are added up
    and back-propagated at once, so their graphs are alive together. There are no checkpoints.
    """

    kind = "deepspeed"
    resumes = False

    def __init__(self, model: "PreTrainedModel", processes: Processes) -> None:
        """Train the weights of `model` that are open.

        Raises:
            ModelError: the model is in float16, for which DeepSpeed scales losses and skips steps.
        """
        if model.dtype == torch.float16:
            raise ModelError("model.dtype = 'float16' with DeepSpeed: give bfloat16 or float32")
        super().__init__(model, processes)
        self._engine: Any = None
        self._reached: set[str] = set()  # weights with a gradient in this step
        self._loss: torch.Tensor | None = None

    def logits(self, batch: Batch) -> torch.Tensor:
        """Return `answer_logits` of the batch; before the training without DeepSpeed."""
        if self._engine is None:
            return answer_logits(self.model, batch)
        logits: torch.Tensor = self._engine(batch)
        return logits

    def open(self, optimization: Optimization, learning_rate: float) -> None:
        """Begin to train, as accelerate's config file says (the environment holds it).

        Raises:
            ParamsError: the optimizer is Muon, which takes a matrix as a whole.
        """
        import deepspeed
        from accelerate.utils import DeepSpeedPlugin

        refuse_muon(optimization, self.kind)
        super().open(optimization, learning_rate)
        for name, weight in self.trained.items():
            weight.register_post_accumulate_grad_hook(lambda _, name=name: self._reached.add(name))
        own = {
            "train_batch_size": self.processes.count,
            "train_micro_batch_size_per_gpu": 1,  # only their ratio counts
            "gradient_accumulation_steps": 1,
            "gradient_clipping": CLIP,
            "zero_allow_untested_optimizer": True,
            "bf16": {"enabled": self.model.dtype == torch.bfloat16},
        }
        self._engine, optimizer, _, _ = deepspeed.initialize(
            model=AnswerPasses(self.model),
            optimizer=self.optimizers[0],
            config=DeepSpeedPlugin().deepspeed_config | own,
        )
        self.optimizers = [optimizer]

    def backward(self, loss: torch.Tensor) -> None:
        """Add this process's share of a loss; DeepSpeed takes the processes' mean gradient."""
        loss = loss * self.processes.count
        self._loss = loss if self._loss is None else self._loss + loss

    def clip(self) -> float:
        """Make the step, which clips the gradient; return its norm before clipping.

        Raises:
            ModelError: a weight has no gradient. DeepSpeed would move it all the same, by its
                momentum and decay, where the other engines leave it.
        """
        self._engine.backward(self._loss)
        if missing := sorted(self.trained.keys() - self._reached):
            raise ModelError(
                f"{missing[0]} has no gradient in a step, perhaps one without portraits, and"
                " DeepSpeed would move it all the same: tune by lora, or give a config of FSDP"
            )
        self._reached.clear()
        self._engine.step()
        self._loss = None
        return float(self._engine.get_global_grad_norm())

    def step(self) -> None:
        """Do nothing: DeepSpeed clips and moves at once."""

    def close(self) -> None:
        """End the training: the model is whole on every process."""
        self._engine.destroy()
        super().close()
