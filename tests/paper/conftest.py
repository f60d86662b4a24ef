import pytest


@pytest.fixture(autouse=True)
def usual_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """What commands would change for good in their process, other tests must not see."""
    monkeypatch.setattr("smore_paper.cli.reproduce.use_fast_products", lambda: False)
