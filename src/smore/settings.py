"""Every choice a user can make, validated once and stored with the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    ByteSize,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from smore.errors import SettingsError, how_to_set

# w_s of the paper.
PAPERS_SCALE = 64.0

# Settings that only one recipe looks at.
RECIPE_OF = dict.fromkeys(
    ("epochs", "batch_size", "latent_rate", "evaluate_every", "fit_steps", "gradient"), "paper"
) | dict.fromkeys(("decoder_steps", "dynamics_steps", "stabilise"), "fast")

# Settings in the order in which they are worth a thought; all others rarely are. Measured:
# docs/settings.md.
TRIED_FIRST = ("dynamics", "latent_dim", "train_length", "memory", "seed")
TRIED_THEN = (
    "decoder", "latents", "periods", "frequency_scale", "hidden_dim", "normalization", "stabilise",
    "rank", "dissipative", "recipe", "device",
)  # fmt: skip

# Settings that files of earlier versions hold, at the values that mean what is done now.
RETIRED = {"finetune_steps": 0}

DynamicsKind = Literal["auto", "linear", "koopman", "lrlq", "quadratic", "conservative", "mlp"]


class Settings(BaseModel):
    """The settings of a model and of its training.

    `None` means "chosen from the data"; `fit` replaces it by the value it chose.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # The decoder: a FiLM-shifted multiplicative filter network, or modes at the points of a mesh.
    decoder: Literal["network", "gridded"] | None = Field(
        None,
        description="a filter network, or modes at the points of the one training mesh, with an "
        "interpolation between; default: what left-out points prefer, network if hidden_dim is set",
    )
    latent_dim: int | None = Field(None, ge=1, description="p, length of one channel's latent code")
    hidden_dim: int | None = Field(None, ge=2, description="h, width of the decoder; even")
    num_hidden: int = Field(3, ge=0, description="hidden linear layers of the decoder")
    frequency_scale: float | None = Field(
        None,
        gt=0,
        description="w_s, range of initial frequencies; default: what left-out points prefer, the "
        "paper's 64 where they cannot tell",
    )

    latents: Literal["shared", "joint"] | None = Field(
        None,
        description="a code per channel and the same modes for all (shared, as in the paper), or "
        "one code for all channels and modes for each (joint); default: what left-out data prefer",
    )

    # The latent dynamics and the map that is iterated.
    dynamics: DynamicsKind = Field(
        "auto",
        description="form of the latent dynamics: linear about a moving centre (linear), the "
        "paper's (koopman, lrlq), ...; default: linear where snapshots share their points and few "
        "gaps move, else koopman; lrlq where quadratic maps forecast left-out trajectories far "
        "better",
    )
    periods: tuple[float, ...] | None = Field(
        None,
        description="linear: known periods of the centre, in the data's units of time (seconds for "
        "dates); default: of the calendar, or found, where forecasts gain from them",
    )
    rank: int | None = Field(
        None,
        ge=1,
        description="κ of lrlq, or the number of products of a conservative term; "
        "default: r / 8, and a conservative term of full rank while it has a closed form",
    )
    dissipative: bool = Field(
        False, description="conservative: a linear part that cannot make energy either"
    )
    stabilise: Literal["auto", "always", "never"] = Field(
        "auto",
        description="linear and fast koopman: make every eigenvalue decay, if left-out "
        "forecasts lose little by it, 5% (koopman) or 1% (linear, auto)",
    )
    dynamics_hidden_dim: int | None = Field(None, ge=1, description="width of the MLP (mlp)")
    quadratic_start: float | None = Field(
        None,
        ge=0,
        description="quadratic: standard deviation of the entries of Q at the start; default: 1e-3",
    )
    integrator: Literal["rk4", "rk4-38", "exact", "strang"] | None = Field(
        None,
        description="time stepping; default: exact for fast koopman, strang for dissipative "
        "dynamics, else rk4-38",
    )
    substeps: int | None = Field(
        None, ge=1, description="integrator steps per output interval; default: 1, strang 4"
    )
    gradient: Literal["direct", "adjoint"] = Field("direct", description="gradient of a rollout")

    # How data become tensors.
    normalization: Literal["standard", "scale", "none"] | None = Field(
        None,
        description="per channel: remove mean and scale, scale only, or neither; "
        "default: standard, but scale for conservative dynamics",
    )
    time_scale: float | None = Field(
        None, gt=0, description="unit of model time in the data's units; default: the median step"
    )
    train_length: int | None = Field(
        None, ge=2, description="leading snapshots of each sequence that supervise; default: all"
    )
    window: int = Field(
        10, ge=2, description="snapshots per training rollout; longer sequences are cut"
    )
    validation_fraction: float = Field(
        0.1, ge=0, lt=1, description="share of the training data that selects the checkpoint"
    )

    # How much memory it takes.
    chunk_size: int | None = Field(
        None,
        ge=1,
        description="points decoded at once (Algorithm 2, PM64 is 64); default: what `memory` "
        "allows",
    )
    memory: ByteSize | None = Field(
        None,
        ge=1,
        description="bound of the memory beside libraries, such as 500MB; files that do not fit "
        "are streamed; default: no bound",
    )

    # How the model is trained.
    recipe: Literal["fast", "paper"] = Field(
        "fast", description="decoder first, dynamics second (fast), or Algorithm 1 (paper)"
    )
    decoder_steps: int = Field(1600, ge=1, description="most steps of variable projection")
    dynamics_steps: int = Field(300, ge=1, description="steps of the rollout fit")

    on_divergence: Literal["stop", "backtrack"] = Field(
        "stop",
        description="when a loss turns non-finite: stop with the last good state, or go on from "
        "it with smaller steps",
    )

    # Algorithm 1.
    epochs: int = Field(5000, ge=1, description="passes over all training sequences")
    batch_size: int = Field(32, ge=1, description="sequences per minibatch")
    decoder_rate: float | None = Field(
        None, gt=0, description="learning rate of the decoder; default: 1e-2 (paper), 5e-3 (fast)"
    )
    dynamics_rate: float | None = Field(
        None, gt=0, description="learning rate of the dynamics; default: 1e-3 (paper), 3e-3 (fast)"
    )
    latent_rate: float = Field(1e-3, gt=0, description="learning rate of the latent table")
    eig_weight: float = Field(1e-7, ge=0, description="β_eig, weight of L_reg,eig; 0 switches off")
    cons_weight: float = Field(1e-8, ge=0, description="β_cons, weight of L_reg,cons; 0 is off")
    clip_norm: float | None = Field(
        1.0, gt=0, description="L2 clipping of decoder and dynamics gradients; None switches off"
    )
    teacher_forcing_start: float = Field(0.99, ge=0, le=1, description="ε of the first epoch")
    teacher_forcing_decay: float = Field(0.99, gt=0, le=1, description="factor of ε per epoch")
    evaluate_every: int = Field(100, ge=1, description="epochs between evaluation stages")
    fit_steps: int = Field(
        500, ge=1, description="K_eval, Adam steps of the latent fit in an evaluation stage"
    )
    final_fit_steps: int = Field(
        1000, ge=1, description="K_final, Adam steps of the latent fit after training"
    )
    fit_rate: float = Field(1e-2, gt=0, description="learning rate of the test-time latent fit")
    fit_keeps: Literal["best", "last"] = Field(
        "best",
        description="which iterate of that fit: the best, as the code that the paper builds on, "
        "or the last, as the paper's text",
    )

    # Where and from which random numbers.
    seed: int = Field(0, ge=0, lt=2**63, description="source of every random number")
    device: str = Field("auto", description="auto, cpu, cuda, cuda:1, mps")

    @field_validator("hidden_dim")
    @classmethod
    def _half_sines_half_cosines(cls, value: int | None) -> int | None:
        if value is not None and value % 2:
            raise ValueError("must be even: half of the filters are sines and half cosines")
        return value

    @field_validator("periods")
    @classmethod
    def _turn_forwards(cls, value: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if min(value or (1.0,)) <= 0:
            raise ValueError("must be positive")
        return value

    @model_validator(mode="after")
    def _settings_agree(self) -> Settings:
        linear = self.dynamics in ("auto", "linear")
        if self.integrator == "exact" and not (linear or self.dynamics == "koopman"):
            raise ValueError("integrator 'exact' needs linear dynamics; use 'rk4' or 'rk4-38'")
        if self.dynamics == "linear" and self.integrator not in (None, "exact"):
            raise ValueError("dynamics 'linear' are exact; leave the integrator out")
        if self.dynamics == "linear" and self.recipe != "fast":
            raise ValueError("dynamics 'linear' need recipe 'fast'")
        if self.periods is not None and not linear:
            raise ValueError(f"periods belong to 'linear', not to {self.dynamics!r}")
        if self.integrator == "strang" and self.dynamics != "conservative":
            raise ValueError("integrator 'strang' needs dynamics 'conservative'")
        if self.gradient == "adjoint" and self.integrator not in (None, "rk4-38"):
            raise ValueError("gradient 'adjoint' needs integrator 'rk4-38'")
        if self.rank is not None and self.dynamics not in ("lrlq", "conservative"):
            raise ValueError(f"rank belongs to lrlq or conservative, not to {self.dynamics!r}")
        if self.quadratic_start is not None and self.dynamics != "quadratic":
            raise ValueError(f"quadratic_start belongs to 'quadratic', not to {self.dynamics!r}")
        if self.dissipative and self.dynamics != "conservative":
            raise ValueError(f"dissipative belongs to conservative, not to {self.dynamics!r}")
        if self.decoder == "gridded" and self.recipe != "fast":
            raise ValueError("decoder 'gridded' needs recipe 'fast'")
        if self.latents == "joint" and self.recipe != "fast":
            raise ValueError("joint latents need recipe 'fast'")
        if self.dynamics == "conservative":
            if self.recipe != "fast":
                raise ValueError("dynamics 'conservative' need recipe 'fast'")
            if self.normalization == "standard":
                raise ValueError("energy is that of the whole field: use normalization 'scale'")
        if self.dynamics_hidden_dim is not None and self.dynamics != "mlp":
            raise ValueError(f"dynamics_hidden_dim belongs to 'mlp', not to {self.dynamics!r}")
        return self

    @property
    def stepping(self) -> str:
        """The integrator, chosen by recipe and dynamics where the user did not."""
        if self.integrator is not None:
            return self.integrator
        if self.dissipative:  # built to be certified, and so must be the map
            return "strang"
        exact = self.recipe == "fast" and self.dynamics in ("auto", "linear", "koopman")
        return "exact" if exact else "rk4-38"

    @property
    def num_substeps(self) -> int:
        """Integrator steps per output interval, chosen by integrator where the user did not."""
        return self.substeps or (4 if self.stepping == "strang" else 1)

    @property
    def scaling(self) -> Literal["standard", "scale", "none"]:
        """The normalisation, chosen by dynamics where the user did not."""
        return self.normalization or ("scale" if self.dynamics == "conservative" else "standard")

    def num_outputs(self, num_channels: int) -> int:
        """Channels that have modes of their own."""
        return num_channels if self.latents == "joint" else 1

    def num_codes(self, num_channels: int) -> int:
        """Codes of a snapshot."""
        return 1 if self.latents == "joint" else num_channels

    @property
    def dynamics_learning_rate(self) -> float:
        """The dynamics' learning rate, chosen by recipe where the user did not."""
        return self.dynamics_rate or (3e-3 if self.recipe == "fast" else 1e-3)

    @property
    def decoder_learning_rate(self) -> float:
        """The decoder's learning rate, chosen by recipe where the user did not."""
        return self.decoder_rate or (5e-3 if self.recipe == "fast" else 1e-2)

    @classmethod
    def of(cls, **values: Any) -> Settings:
        """Validated settings, or a SettingsError that names every field at fault.

        What a user sets must have an effect: settings of the other recipe are refused.
        """
        settings = validated(cls, values)
        settings.require_used(values)
        return settings

    def replace(self, **values: Any) -> Settings:
        """These settings with some values changed, validated again."""
        return validated(type(self), self.model_dump() | values)

    def require_used(self, names: Iterable[str]) -> None:
        """Refuse `names` that the recipe does not look at."""
        for name in names:
            owner = RECIPE_OF.get(name, self.recipe)
            if owner != self.recipe:
                raise SettingsError(
                    f"{name} belongs to recipe {owner!r} and has no effect on "
                    f"{self.recipe!r}; leave it out, or set {how_to_set('recipe', owner)}"
                )


def when_tried(name: str) -> Literal["first", "then", "rarely"]:
    """How soon whoever is not content with a default should think of a setting."""
    return "first" if name in TRIED_FIRST else "then" if name in TRIED_THEN else "rarely"


Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], values: dict[str, Any], prefix: str = "") -> Model:
    """`model(**values)`, or a SettingsError that names every field at fault."""
    try:
        return model(**values)
    except ValidationError as error:
        faults = "; ".join(_fault(problem, model) for problem in error.errors())
        raise SettingsError(prefix + faults) from None


def _fault(problem: ErrorDetails, model: type[BaseModel]) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{name} is not a setting; the settings are {', '.join(model.model_fields)}"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{name}: {message} (got {problem['input']!r})" if name else message
