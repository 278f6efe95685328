"""The references of the models in NumPy, timed."""

import numpy as np
import numpy.typing as npt

from levelfield.backends import canary
from levelfield.backends.checks import require_supported
from levelfield.backends.protocol import Arrays, Options, Source, Step
from levelfield.zoo import models, reference


class Example:
    """Every model, computed in float64; the output is rounded to float32."""

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("example", options)
        self.version = np.__version__
        self._threads = canary.set_threads(options.threads)

    def load(self, source: Source) -> Step:
        """Return the reference of the source's model."""
        model = models.get(source.model)

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            return reference.run(model, source.weights, inputs).astype(np.float32)

        return step

    def settings(self) -> dict[str, str]:
        """Return the number of threads of NumPy's matrix library, read back from it."""
        return {"threads": self._threads}
