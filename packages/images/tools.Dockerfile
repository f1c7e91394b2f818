# svipu, with the exporter. A pod that reads StateSaveLocation runs it as SlurmUser.
ARG BASE
FROM ${BASE}
COPY . /
USER 65534
ENTRYPOINT ["svipu"]
