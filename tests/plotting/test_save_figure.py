"""Where figures go."""

import pytest
from matplotlib.figure import Figure

from smore.errors import SettingsError
from smore.plotting.saving import save_figure


def test_a_figure_that_cannot_be_written_names_its_file(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    path = tmp_path / "a.png"
    with pytest.raises(SettingsError, match=rf"{path} cannot be written: No space left on device"):
        save_figure(Figure(), path)
