-- Lmod module for a Poplar SDK. The name of this file is the version: copy or link it for each SDK.
-- The SDK of version 3.4.0 is in SDKS/3.4.0, in which its script `enable` is.
local sdks = "/opt/graphcore/poplar_sdk"

whatis("Poplar SDK " .. myModuleVersion() .. ": programs for Graphcore IPUs")
help([[
Submit a program for IPUs:  sbatch --ipus=4 --time=30 --wrap 'python3 train.py'
Free IPUs, waiting jobs:    svipu

The module gives no IPUs. A job with --ipus has them in all its steps.
]])
-- A second SDK would mix with the first.
family("poplar")
-- No IPUOF_* here: slurm-vipu sets these variables, for each task its own. No SBATCH_IPU* either: they would be for
-- jobs without IPUs, too.
source_sh("bash", pathJoin(sdks, myModuleVersion(), "enable"))
