# All files of slurm-vipu. Nothing in it can run: other images copy files from it.
FROM scratch
COPY . /
