"""PySHRED on its double gyre, as its tutorial has it.

A program of its own, for the environment that `make comparators` creates:

    python run_pyshred.py SEED EPOCHS OUT.npz
"""

from __future__ import annotations

import sys
import time

import numpy as np
from double_gyre import make_flows


def main(seed: int, epochs: int, out: str) -> None:
    import torch
    from pyshred import SHRED, ParametricDataManager, ParametricSHREDEngine

    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - its compression draws from there
    flows = make_flows(seed)
    manager = ParametricDataManager(lags=25, train_size=0.8, val_size=0.1, test_size=0.1)
    manager.add_data(data=flows.u, id="U", measurements=flows.measured, compress=4)
    manager.add_data(data=flows.v, id="V", compress=4)
    constant = np.repeat(flows.parameters[:, None], flows.u.shape[1], axis=1)
    manager.add_data(data=constant, id="mu", compress=False)
    started = time.process_time()
    train, validation, _ = manager.prepare()
    model = SHRED(sequence_model="LSTM", decoder_model="MLP", latent_forecaster=None)
    errors = model.fit(train, validation, num_epochs=epochs, patience=50, verbose=False)
    seconds = time.process_time() - started
    engine = ParametricSHREDEngine(manager, model)
    found = engine.decode(engine.sensor_to_latent(manager.test_sensor_measurements))
    shape = (flows.num_test, *flows.u.shape[1:])
    np.savez(
        out,
        u=np.asarray(found["U"], dtype=float).reshape(shape),
        v=np.asarray(found["V"], dtype=float).reshape(shape),
        seconds=np.asarray(seconds),
        epochs=np.asarray(float(len(errors))),
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
