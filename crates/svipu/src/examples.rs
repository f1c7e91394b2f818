//! The examples in help texts and man pages. A test parses each line that begins with `svipu`.

/// Of `svipu` itself.
pub(crate) const SVIPU: &str = "\
Examples:
  svipu                          each model, and your own jobs
  svipu queue --me               your waiting jobs, in line and others
  svipu queue -w                 shown again each 5 seconds
  svipu queue -o job,user,size   with columns of your choice
  svipu partitions -u alice      the partitions of a user
  svipu --json -M pod64          all about one model, for programs

svipu reads the status document vipu_status.json, which slurmctld writes. It looks for the document in
this order: --status, the variable SVIPU_STATUS, the key status of ~/.config/svipu.toml, then of
/etc/svipu.toml, and ipuof_dir= of spank_ipuof.so in plugstack.conf. The keys color, model, interface and
columns of svipu.toml stand for --color, -M, --interface and -o where the command line has none.

The commands of administrators need root or SlurmUser on the host of slurmctld. They use the socket of
--socket, AdminSocket= of vipu.conf, or vipu_admin.socket beside SlurmctldPidFile.

Exit status:
  0  svipu showed what was asked for.
  1  There is nothing to read, a name is unknown, slurmctld refused, or conf check found an error.
  2  The command line is wrong.
doctor ends with 1 if it found a warning, and with 2 if it found an error.";

pub(crate) const MAP: &str = "\
Examples:
  svipu map                      letters for partitions, a dot for a free IPU
  svipu map -w --me              your IPUs, drawn anew each 5 seconds
  svipu map --svg map.svg        a picture";

pub(crate) const PLAN: &str = "\
Examples:
  svipu plan                     the next 12 hours
  svipu plan --hours 48          the next two days
  svipu plan --svg plan.svg      a picture";

pub(crate) const WHEN: &str = "\
Examples:
  svipu when --ipus=32 -t 2:00:00
  svipu when --ipus=4 -t 30 -M pod64";

pub(crate) const WHY: &str = "\
Examples:
  svipu why                      why your jobs wait
  svipu why 42                   why job 42 waits
  svipu why 42_3                 why task 3 of array 42 waits
  svipu why 42 --json            for programs: each cause with its kind";

pub(crate) const JOB: &str = "\
Examples:
  svipu job 42
  svipu job 42+1                 component 1 of a heterogeneous job
  svipu job slurm_42             the job that has this partition

The history of past jobs is in the audit log, which administrators can read.";

pub(crate) const PARTITION: &str = "\
Examples:
  svipu partition slurm_42
  svipu partition 42                 that of job 42
  svipu partition free slurm_42      remove it, if it is kept for your failed job";

pub(crate) const IPU: &str = "\
Examples:
  svipu ipu 0:16                 IPU 16 of IPU-Link domain 0
  svipu ipu vipu1:8090/0:16      that of one controller";

pub(crate) const USER: &str = "\
Examples:
  svipu user                     you
  svipu user alice";

pub(crate) const LIMITS: &str = "\
Examples:
  svipu limits                   of your own jobs
  svipu limits alice             of a user
  svipu limits --noheader -o limit,tres,left

It shows all QOS, also those that the user may not use. A limit of a QOS takes the place of the same limit of
associations. The command asks slurmctld by scontrol, with one request: do not run it in a loop. All other
commands of svipu send slurmctld no request of Slurm.";

pub(crate) const ENV: &str = "\
Examples:
  eval \"$(svipu env 42)\"
  svipu env                      of the job in which you are, or your only running job
  svipu env 42 --gcd 1           of the second GCD

Examples in a job, with containers:
  docker run --rm $(svipu env --docker) IMAGE python3 train.py
  podman run --rm $(svipu env --podman) IMAGE python3 train.py
  apptainer exec $(svipu env --apptainer) IMAGE.sif python3 train.py
  ch-run $(svipu env --charliecloud) IMAGE -- python3 train.py";

pub(crate) const HOSTFILE: &str = "\
Examples, in the batch script of a job:
  svipu hostfile > hosts         a line for each node, such as node1 slots=2
  svipu hostfile --slots 4       other slots than the job's tasks on each node
  svipu hostfile --mca           options of Open MPI, such as --mca btl_tcp_if_include 10.1.0.0/16

  mpirun --hostfile hosts $(svipu hostfile --mca) ./program

--mca takes --interface, then the key interface of svipu.toml, then the interface of the route to the
other nodes. It prints nothing in a job on one node.";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  svipu completions bash > /etc/bash_completion.d/svipu
  svipu completions zsh > ~/.zfunc/_svipu
  svipu completions fish > ~/.config/fish/completions/svipu.fish";
