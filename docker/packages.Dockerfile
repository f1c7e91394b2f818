# The image of a cluster, with systemd, and with the programs that install packages of Red Hat's family and check packages
# of both.
ARG BASE
FROM ${BASE}
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends binutils curl dnf lintian rpm systemd \
 && rm -rf /var/lib/apt/lists/*
