"""A remote place has the methods of a local path, and does with them what the local path does."""

import pickle
from pathlib import Path

import pytest

from kcsim.scenarios.analysis.tables import dataset
from kcsim.scenarios.analysis.tables import location as location_module
from kcsim.scenarios.analysis.tables.dataset import CLAIM, SUCCESS, Dataset, NoDatasetError, PathExistsError, being_written
from kcsim.scenarios.analysis.tables.location import NoFileSystemError, RemotePath, expanded, location
from kcsim.zk.servers.free_ports import free_ports


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RemotePath:
    """Return a remote place whose files are, by another file system of pyarrow's, those of `tmp_path`."""
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    filesystem = SubTreeFileSystem(str(tmp_path), LocalFileSystem())
    monkeypatch.setattr(location_module, "_filesystem", lambda root: filesystem)
    return RemotePath("hdfs://host:1")


@pytest.fixture
def store(remote: RemotePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RemotePath:
    """Return the same as a bucket of an object store, which needs no folders."""
    write = RemotePath.write_text

    def write_anywhere(path: RemotePath, text: str) -> None:
        (tmp_path / path.inner).parent.mkdir(parents=True, exist_ok=True)
        write(path, text)

    monkeypatch.setattr(RemotePath, "write_text", write_anywhere)
    return RemotePath("s3a://lake")


@pytest.mark.parametrize(
    ("url", "root", "path"),
    [
        ("s3a://lake/a/b.parquet", "s3a://lake", "a/b.parquet"),
        ("s3://lake/a/", "s3a://lake", "a"),
        ("s3a://lake", "s3a://lake", ""),
        ("s3a://lake/what?/#1 %41", "s3a://lake", "what?/#1 %41"),
        ("hdfs://host:8020/a", "hdfs://host:8020", "a"),
    ],
)
def test_a_url_names_a_file_system_and_a_place_in_it(url: str, root: str, path: str) -> None:
    found = location(url)
    assert found == RemotePath(root, path)
    assert location(str(found)) == pickle.loads(pickle.dumps(found)) == found


def test_a_scheme_without_a_file_system_is_refused() -> None:
    with pytest.raises(
        NoFileSystemError, match=r"ftp://host/a: paths of ftp:// are not supported; .* file://, hdfs://, s3a://"
    ):
        location("ftp://host/a")


@pytest.mark.parametrize("name", ["a/b.jsonl.gz", "a", "a.b/c"])
def test_names_are_those_of_a_path(name: str) -> None:
    here, there = Path("/root") / name, RemotePath("s3a://lake", "root") / name
    assert (there.name, there.stem, there.suffix) == (here.name, here.stem, here.suffix)
    assert str(there.with_suffix(".x")) == f"s3a://lake{here.with_suffix('.x')}"
    assert str(there.with_name("x")) == f"s3a://lake{here.with_name('x')}"
    assert str(there.parent / "x") == f"s3a://lake{here.parent / 'x'}"


FILES = ("events/batch=a/part-0.parquet", "events/batch=b/part-1.parquet", "events/x.txt", "run.jsonl", ".hidden/run.jsonl")


@pytest.mark.parametrize(
    "pattern", ["*", "events/*", "events/batch=*", "events/batch=[b]/*.parquet", "**/*.jsonl", "e*/**/*"]
)
def test_a_pattern_matches_what_it_matches_on_disk(remote: RemotePath, tmp_path: Path, pattern: str) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    wanted = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob(pattern))
    assert wanted
    assert sorted(path.path for path in remote.glob(pattern)) == wanted
    assert sorted(str(path).removeprefix("hdfs://host:1/") for path in expanded(remote / pattern)) == wanted


def test_what_a_listing_reports_is_what_the_file_system_reports(remote: RemotePath, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("12345")
    file, folder = sorted(remote.iterdir())
    for found in (file, RemotePath(file.root, file.path)):
        assert (found.exists(), found.is_file(), found.is_dir(), found.stat().st_size) == (True, True, False, 5)
        assert found.stat().st_mtime == pytest.approx((tmp_path / "file").stat().st_mtime)
    assert (folder.exists(), folder.is_file(), folder.is_dir()) == (True, False, True)
    with pytest.raises(FileNotFoundError):
        (remote / "none").stat()


def test_a_file_is_read_from_any_place_in_it(remote: RemotePath, tmp_path: Path) -> None:
    (remote / "file").write_text("a\nbc\n")
    assert (tmp_path / "file").read_text() == (remote / "file").read_text() == "a\nbc\n"
    with (remote / "file").open("rb") as file:
        assert [*file] == [b"a\n", b"bc\n"]
        file.seek(2)
        assert file.read(2) == b"bc"


# --- datasets --------------------------------------------------------------------------------------------------------------


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_an_object_store_has_the_mark_of_a_whole_dataset_last(store: RemotePath, tmp_path: Path) -> None:
    with being_written(store / "history") as folder:
        assert folder == store / "history"
        (folder / "file").write_text("")
        claim, file = names_in(tmp_path / "lake" / "history")
        assert (claim.startswith(CLAIM), file) == (True, "file")
    assert names_in(tmp_path / "lake" / "history") == [SUCCESS, "file"]


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_nothing_in_an_object_store(
    store: RemotePath, tmp_path: Path, failure: type[BaseException]
) -> None:
    def fail() -> None:
        with being_written(store / "history") as folder:
            (folder / "half").write_text("")
            raise failure

    with pytest.raises(failure):
        fail()
    assert names_in(tmp_path) == []


def test_of_two_that_write_one_dataset_the_second_is_refused(store: RemotePath, tmp_path: Path) -> None:
    with being_written(store / "history") as folder:
        (folder / "mine").write_text("")
        with pytest.raises(PathExistsError), being_written(store / "history"):
            pytest.fail("it has begun")
    assert names_in(tmp_path / "lake") == ["history/_SUCCESS", "history/mine"]


def test_a_claim_made_at_the_same_moment_is_seen(store: RemotePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both processes find nothing there, and claim it: what is listed afterwards decides."""
    theirs = store / "history" / f"{CLAIM}1"
    monkeypatch.setattr(dataset, "refuse_existing", lambda path: theirs.write_text(""))
    with pytest.raises(PathExistsError), being_written(store / "history"):
        pytest.fail("it has begun")
    assert names_in(tmp_path / "lake") == [f"history/{theirs.name}"]


def test_only_a_whole_dataset_is_read(store: RemotePath, tmp_path: Path) -> None:
    (tmp_path / "lake" / "half" / "events").mkdir(parents=True)
    with pytest.raises(NoDatasetError, match=f"half is half-written: there is no {SUCCESS} in it"):
        Dataset(store / "half").has("events")
    (tmp_path / "lake" / "half" / SUCCESS).write_text("")
    assert Dataset(store / "half").has("events")
    assert not Dataset(store / "half").has("transitions")


def test_on_disk_a_dataset_of_an_older_version_has_no_mark(tmp_path: Path) -> None:
    (tmp_path / "old" / "events").mkdir(parents=True)
    assert Dataset(tmp_path / "old").has("events")


@pytest.mark.parametrize("where", ["127.0.0.1", "no-such-host.invalid"])
def test_a_namenode_that_cannot_be_reached_is_named_at_once(where: str) -> None:
    root = f"hdfs://{where}:{free_ports(1)[0]}"
    with pytest.raises(OSError, match=root) as caught:
        RemotePath(root, "history").exists()
    assert (caught.value.filename, bool(caught.value.strerror)) == (root, True)
