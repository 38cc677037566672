# Spark's official image with this project in it: what the profile `spark` of docker-compose.yml runs, master and workers alike.
# Its Spark is the one of requirements.lock (tests/test_docker_compose.py).
FROM apache/spark:4.3.0-scala2.13-java17-python3-ubuntu

USER root
# The Python of the image is Ubuntu's, 3.10; this project needs 3.11. Driver and executors run this one.
ENV UV_PYTHON_INSTALL_DIR=/opt/python
RUN pip3 install --no-cache-dir uv && uv venv --python 3.11 /opt/kcsim
COPY . /opt/kcsim-source
RUN uv pip install --no-cache --python /opt/kcsim/bin/python "/opt/kcsim-source[spark]" pyspark==4.3.0
ENV PYSPARK_PYTHON=/opt/kcsim/bin/python \
    PATH=/opt/kcsim/bin:$PATH

USER spark
