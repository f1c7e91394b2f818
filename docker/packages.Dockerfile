# The image of a cluster, with the programs that install packages of Red Hat's family and check packages of both.
ARG BASE
FROM ${BASE}
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends binutils lintian rpm systemd \
 && rm -rf /var/lib/apt/lists/*
