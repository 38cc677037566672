"""The servers of other file systems, as contexts. A server ends with the process that started it."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.scenarios.analysis.remote import hdfs_server, s3_server

BUCKET = "lake"


@contextmanager
def _url_of(module: str, *arguments: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        url = process.stdout.readline().strip()
        assert url, f"{module} did not start"
        try:
            yield url
        finally:
            process.stdin.close()


@contextmanager
def s3_server_with_a_bucket() -> Iterator[Mapping[str, str]]:
    """Yield the environment variables of a client of a server that has an empty bucket, BUCKET."""
    import pyarrow.fs as fs

    with _url_of(s3_server.__name__) as url:
        filesystem = fs.S3FileSystem(
            access_key="test", secret_key="test", endpoint_override=url, region="us-east-1", allow_bucket_creation=True
        )
        filesystem.create_dir(BUCKET)
        yield {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }


@contextmanager
def hdfs_cluster(folder: Path) -> Iterator[str]:
    """Yield the URL of a cluster that keeps its files in a folder."""
    with _url_of(hdfs_server.__name__, str(folder)) as url:
        yield url
