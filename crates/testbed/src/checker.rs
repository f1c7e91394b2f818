//! What must hold after every test.

use std::{fs, time::Duration};

use anyhow::{Result, ensure};

use crate::{Cluster, cluster::held, conf_files::BACKUP, say, wait_until};

/// How long the last jobs may take to end.
const JOBS_LIMIT: Duration = Duration::from_secs(60);

/// How long after that the last partition and file may take to go.
const PARTITIONS_LIMIT: Duration = Duration::from_secs(20);

/// What has no business in slurmctld's log unless the test said so: a fault of ours often shows as Slurm's error.
const FAULTS: [&str; 3] = ["panic", "fatal", "error:"];

/// What any slurmctld says on a machine like this one: on its first start, without mail or PMIx, under load.
const HARMLESS: [&str; 6] =
    ["Could not open ", "state save file. ", "MailProg", "mpi/pmix", "pmi/pmix", "High latency"];

impl Cluster {
    /// [`Cluster::check`], then the end of the cluster.
    ///
    /// # Errors
    /// Everything that does not hold; the logs are printed then.
    pub fn finish(self) -> Result<()> {
        let checked = self.check();
        match checked {
            Ok(()) => self.verdict.passed(),
            Err(_) => self.verdict.failed(),
        }
        checked
    }

    /// Cancels what is left of jobs, waits until they are gone, and checks what must hold after every test:
    /// no partition and no IPUoF file is left, no IPU was ever in two partitions, no job was lost,
    /// slurmctld lives and logged no fault of ours.
    ///
    /// # Errors
    /// Everything that does not hold.
    pub fn check(&self) -> Result<()> {
        self.clear()?;
        let violations = self.violations();
        ensure!(violations.is_empty(), "at the end this did not hold:\n  {}", violations.join("\n  "));
        Ok(())
    }

    /// Cancels all jobs and waits until nothing of them is left.
    fn clear(&self) -> Result<()> {
        self.slurmctld()?;
        say("cancelling what is left, waiting for the last partitions to go");
        let left: Vec<_> = self.jobs()?.into_iter().filter(|job| !job.is_over()).collect();
        if !left.is_empty() {
            let ids: Vec<_> = left.iter().map(|job| job.id.to_string()).collect();
            let ids: Vec<_> = ids.iter().map(String::as_str).collect();
            // Jobs that end in this very moment make scancel complain.
            self.command("scancel").args(&ids).output()?;
        }
        wait_until("the last job to end", JOBS_LIMIT, || Ok(self.jobs()?.iter().all(|job| job.is_over())))?;
        // What stays for good is reported as a violation, with its name.
        let _ = wait_until("the last partition to go", PARTITIONS_LIMIT, || {
            Ok(self.mock.partitions()?.is_empty() && self.ipuof_files()?.is_empty())
        });
        Ok(())
    }

    /// The files in IpuofDir.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn ipuof_files(&self) -> Result<Vec<String>> {
        let entries = fs::read_dir(self.layout.ipuof())?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    fn violations(&self) -> Vec<String> {
        let checks: [(&str, Result<Vec<String>>); 6] = [
            ("partition left", self.mock.partitions()),
            ("IPU owned twice", self.mock.owned_twice()),
            ("file left in IpuofDir", self.ipuof_files()),
            ("job lost", self.lost_jobs()),
            ("slurmctld", self.slurmctld().map(|_| Vec::new())),
            ("slurmctld's log", Ok(self.faults())),
        ];
        let mut violations = Vec::new();
        for (what, found) in checks {
            match found {
                Ok(found) => violations.extend(found.iter().map(|found| format!("{what}: {found}"))),
                Err(error) => violations.push(format!("{what}: {error:#}")),
            }
        }
        violations
    }

    fn lost_jobs(&self) -> Result<Vec<String>> {
        let known: Vec<_> = self.jobs()?.into_iter().map(|job| job.id).collect();
        let submitted = held(&self.submitted);
        Ok(submitted.iter().filter(|job| !known.contains(job)).map(ToString::to_string).collect())
    }

    fn faults(&self) -> Vec<String> {
        let expected = held(&self.expected);
        let logs = [self.slurmctld_log(), self.verdict.logs().read(BACKUP)];
        let is_fault = |line: &&str| FAULTS.iter().any(|fault| line.contains(fault));
        let is_harmless = |line: &&str| HARMLESS.iter().any(|part| line.contains(part));
        let is_expected = |line: &&str| expected.iter().any(|part| line.contains(part));
        logs.iter()
            .flat_map(|log| log.lines())
            .filter(|line| is_fault(line) && !is_harmless(line) && !is_expected(line))
            .map(str::to_owned)
            .collect()
    }

    /// slurmctld's log up to now.
    #[must_use]
    pub fn slurmctld_log(&self) -> String {
        self.verdict.logs().read("slurmctld")
    }
}
