# The simulator: what the profile `cluster` of docker-compose.yml runs, one broker in each container.
FROM python:3.11-slim

COPY . /opt/kcsim-source
RUN pip install --no-cache-dir /opt/kcsim-source && useradd --create-home kcsim
USER kcsim
ENTRYPOINT ["kcsim"]
