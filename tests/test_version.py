"""The version, and the state of the source where it is known."""

from __future__ import annotations

import subprocess

import tadge
from tadge import version


def test_a_repository_names_its_commit(monkeypatch, tmp_path):
    package = tmp_path / "src" / "tadge"
    package.mkdir(parents=True)
    (package / "version.py").write_text("")
    monkeypatch.setattr(version, "__file__", str(package / "version.py"))
    assert version.code_version() == tadge.__version__  # no repository
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for step in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *step], check=True)
    commit = subprocess.run([*git, "rev-parse", "--short=7", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert version.code_version() == f"{tadge.__version__} ({commit.strip()})"
    (tmp_path / "notes.txt").write_text("no code")
    assert version.code_version() == f"{tadge.__version__} ({commit.strip()})"
    (package / "version.py").write_text("# changed")
    assert version.code_version() == f"{tadge.__version__} ({commit.strip()}+)"
    monkeypatch.setenv("PATH", "")
    assert version.code_version() == tadge.__version__  # no git
