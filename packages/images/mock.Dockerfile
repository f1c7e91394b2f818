# A V-IPU controller without IPUs, for trials.
ARG BASE
FROM ${BASE}
COPY . /
USER 65534
ENTRYPOINT ["mock-vipu-server"]
