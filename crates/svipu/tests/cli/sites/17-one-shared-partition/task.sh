#!/bin/sh
echo export IPUOF_VIPU_API_HOST=pod.example.org
echo export IPUOF_VIPU_API_PARTITION_ID=p64
