"""The benchmark of mode hybrid, on few units."""

import json
import sys
from pathlib import Path

import pytest

from research.benchmarks.hybrid_latency import main


def test_it_measures_all_modes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"The parcel number {number} never came to the door of my house." for number in range(20)]
    source = tmp_path / "documents.ndjson"
    source.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)))
    arguments = ["--source", str(source), "--units", "600", "--dim", "16", "--queries", "2", "--json"]
    monkeypatch.setattr(sys, "argv", ["hybrid_latency", *arguments])
    main()
    figures = json.loads(capsys.readouterr().out)
    assert 600 <= figures["units"] < 620
    assert figures["queries"] == 2
    assert all(figures[name] > 0 for name in ("best_span_p50_ms", "lexical_p50_ms", "hybrid_p50_ms", "hybrid_ratio"))


def test_a_source_without_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "documents.ndjson").write_text(json.dumps({"id": "a", "text": ""}) + "\n")
    monkeypatch.setattr(sys, "argv", ["hybrid_latency", "--source", str(tmp_path / "documents.ndjson")])
    with pytest.raises(SystemExit, match="has no text"):
        main()
