"""The benchmark of mode facets, on few sentences."""

import json
import sys
from pathlib import Path

import pytest

from research.benchmarks.facet_latency import MODES, main


def test_it_measures_all_modes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"The parcel number {number} never came to my house. We like music." for number in range(20)]
    source = tmp_path / "documents.ndjson"
    source.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)))
    arguments = ["--source", str(source), "--sentences", "30", "--dim", "16", "--queries", "2", "--json"]
    monkeypatch.setattr(sys, "argv", ["facet_latency", *arguments])
    main()
    figures = json.loads(capsys.readouterr().out)
    assert figures["sentences"] == 30
    assert figures["missed"] == 0  # so few are all scored
    assert figures["facet_bytes"] == 2_044  # ten facets of 200 dimensions, ten scales, and a unit
    assert all(figures[f"{mode}_p50_ms"] > 0 for mode in MODES)
    assert figures["documents"] == 15
    assert figures["nugget_bytes"] > 0 < figures["word_bytes"] < figures["unit_bytes"]


def test_a_source_without_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "documents.ndjson").write_text(json.dumps({"id": "a", "text": ""}) + "\n")
    monkeypatch.setattr(sys, "argv", ["facet_latency", "--source", str(tmp_path / "documents.ndjson")])
    with pytest.raises(SystemExit, match="has no text"):
        main()
