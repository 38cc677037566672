"""An HDFS cluster of one machine, as a program with a folder for its files as argument.

It prints the cluster's URL, and ends when its stdin closes.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import pyspark

from kcsim.zk.servers.java import find_java
from tests.requirements import HADOOP


def main() -> None:
    folder = Path(sys.argv[1])
    details = folder / "details.json"
    classes = [f"{HADOOP}/*", f"{Path(pyspark.__file__).parent}/jars/*"]
    options = ["-nomr", "-format", "-nnport", "0", "-nnhttpport", "0", "-writeDetails", str(details)]
    process = subprocess.Popen(
        [
            *(str(find_java().executable), f"-Dtest.build.data={folder}", "-Xmx512m", "-XX:TieredStopAtLevel=1"),
            *("-cp", ":".join(classes), "org.apache.hadoop.mapreduce.MiniHadoopClusterManager", *options),
        ],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "log").open("wb"),
    )
    try:
        while process.poll() is None and not (details.exists() and details.read_text().endswith("}")):
            time.sleep(0.05)
        if process.poll() is None:
            print(f"hdfs://localhost:{json.loads(details.read_text())['namenode_port']}", flush=True)
            sys.stdin.read()
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
