import pytest

from parallax.params import Unlearn

ADAPTER = {"rank": 2, "alpha": 4, "dropout": 0.0}
PLAIN = {"learning_rate": 1e-3, "epochs": 2}


@pytest.fixture(scope="session")
def make_params():
    """`make_params(method, retain_weight=…, npo_beta=…, **others)` gives an unlearn section."""

    def make(method, retain_weight=1.0, npo_beta=0.4, **others):
        retained = PLAIN | {"retain_weight": retain_weight}
        values = {
            "seed": 0,
            "optimizer": "adamw",
            "method": method,
            "alpha": 1.0,
            "beta": 1.0,
            "batch_size": 3,
            "warmup_fraction": 0.0,
            "schedule": "constant",
            "weight_decay": 0.0,
            "tuning": "full",
            "lora": ADAPTER,
            "save": "merged",
            "ga": PLAIN,
            "gd": retained,
            "kl": retained,
            "po": retained,
            "npo": retained | {"npo_beta": npo_beta},
        }
        return Unlearn(**(values | others))

    return make
