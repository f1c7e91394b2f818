//! Trouble of a resource that all jobs need: no job fails for it, and all jobs go on by themselves
//! afterwards.

use crate::script::scenarios;

scenarios! {
    /// The trouble is known before any partition is asked for.
    a_directory_that_is_away_for_hours_costs_no_job_more_than_a_wait "
        files = cannot write to /ipuof: Read-only file system
        create 1-60
        pass 10800
        there
        count 1 trouble: IpuofDir: cannot write to /ipuof: Read-only file system
        log told job 7:* vipu: creating partition slurm_7: 1 IPU on pod64 | vipu: creating partition slurm_7: 1 IPU on pod64, waiting: IpuofDir: cannot write to /ipuof: Read-only file system
        files =
        zero
        -> up 1-60 at 0..20"

    a_directory_that_never_comes_back_gives_the_nodes_back_after_half_a_day "
        files = cannot write to /ipuof: Read-only file system
        create 1 -> put off 1: no partition for 12 h: IpuofDir: cannot write to /ipuof: Read-only file system at 43500..43501"

    /// Three creates got as far as a partition before any of them met the trouble. The partition of a job
    /// that still waits in line is treated like others.
    a_partition_made_before_the_trouble_is_kept_and_gets_its_files_later "
        configure creates=2
        -> listing…
        files = cannot write to /ipuof: Read-only file system
        create 1-12
        pass 1000
        there 1 2 3
        create 13 waiting
        pass 1000
        files =
        -> up 1-13
        count 1 call create 1"

    a_directory_that_hangs_is_in_trouble_too "
        -> listing…
        files of 1 = hang
        probe time = 4000
        create 1 -> up 1 at 3600..
        count 1 trouble: IpuofDir: /ipuof does not answer (is its file server up?)"

    /// The first probe takes 100 s, and later probes take no time.
    a_directory_that_answers_again_is_used "
        probe time = 100
        create 1
        pass 10
        count 1 trouble: IpuofDir: /ipuof does not answer (is its file server up?)
        probe time =
        -> up 1 at 100..103"

    /// Files that were not written are not deleted, because the directory may never come back.
    a_single_file_that_cannot_be_written_is_tried_as_often_as_a_create "
        files of 1 = a directory is in the way
        configure retries=2
        create 1 -> failed 1: partition slurm_1 failed 3 times: no IPUoF file: a directory is in the way
        remove 1 -> gone 1
        there"

    a_journal_that_cannot_be_written_costs_no_job_more_than_a_wait "
        -> listing…
        journal = No space left on device
        create 1-12
        pass 3600
        there
        log trouble:* …/state/vipu_journal: cannot write it: No space left on device…
        count 1 trouble: …
        journal =
        -> up 1-12"

    /// Waiting creates notice by themselves that vipu.conf was corrected.
    another_configuration_ends_the_trouble "
        files = cannot write to /ipuof: Read-only file system
        create 1
        pass 1000
        files =
        probe time = 4000
        pass 10
        probe time =
        configure dir=/right -> up 1 at 1010..1020
        count 1 files of 1 to /right…"

    a_directory_that_nobody_needs_is_not_probed "
        files = cannot write to /ipuof: Read-only file system
        pass 100
        count 10.. probe /ipuof
        configure dir=/right
        pass 1
        forget
        pass 100
        count 0 probe /ipuof"

    a_cancel_ends_the_wait "
        files = cannot write to /ipuof: Read-only file system
        create 1
        pass 1000
        cancel 1 -> cancelled 1 at 1000"

    /// The IPUs are free when the partition is gone. The files are deleted when their directory is back.
    files_in_a_directory_that_is_away_keep_their_entry_and_nothing_else "
        create 1 -> up 1
        files = cannot write to /ipuof: Read-only file system
        zero
        remove 1 -> gone 1 at 0..4
        pass 10000
        count 0 journal gone 1
        files =
        pass 40
        count 1 journal gone 1
        files"

    /// While the owner of the journal cannot be read, another slurmctld may be in charge and own the
    /// partitions. With a full disk, the owner can still be read.
    nothing_is_removed_while_the_owner_of_the_journal_is_unknown "
        create 1 -> up 1
        journal = blind
        remove 1
        pass 1000
        there 1
        journal = No space left on device
        -> gone 1"

    /// Each job tries again a minute later. The first success lets all go on.
    a_controller_that_refuses_three_jobs_in_a_row_refuses_all "
        next create = refused*8
        create 1-5
        -> failed 1: controller vipu:8090: Refused
        -> failed 2: controller vipu:8090: Refused
        pass 50
        count 1 refuses: controller vipu:8090: Refused
        log told job 3:* vipu: creating partition slurm_3: 1 IPU on pod64 | vipu: creating partition slurm_3: 1 IPU on pod64, waiting: controller vipu:8090: Refused…
        -> up 3-5 at 110..130
        count 1 refuses: no more"

    /// The success of another job shows that only the user's request is at fault.
    a_refused_job_fails_when_others_succeed "
        next create = refused*3
        create 1-3
        -> failed 1: …
        -> failed 2: …
        pass 10
        refused = 3
        create 4
        -> failed 3: … at 10..20
        -> up 4 at 12..20"
}
