"""`smore bench large-grid`: a whole fit from a file, told with what was really read."""

import pytest

from smore_paper.benches.large_grid import bench_large_grid
from smore_paper.measuring.generated import Generated


@pytest.mark.parametrize(("memory", "streamed"), [("1GB", False), ("20MB", True)])
def test_a_fit_reads_all_of_its_file_and_leaves_nothing_behind(tmp_path, memory, streamed):
    data = Generated(grid=384, sequences=2, snapshots=20)
    found = bench_large_grid(data, memory, tmp_path)
    assert not list(tmp_path.iterdir())
    assert found.passes > (2.0 if streamed else 1.0)
    assert found.megabytes == pytest.approx(4 * 40 * 384**2 / 1e6)
    assert 0 <= found.pod_limit <= found.decoder_error < 1e-12  # of 37 modes of 40 snapshots
    assert 0 < found.latent_dim < 40
    assert found.peak_megabytes * 1e6 > 100e6  # libraries alone
