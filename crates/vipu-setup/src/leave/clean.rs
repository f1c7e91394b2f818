//! Removal of what is left, when slurmctld uses the stock selector.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use driver::journal::LiveRecord;
use ipuof::IpuofDir;
use vipu_client::ErrorClass;

use super::partitions::{self, Controller};
use super::site::Site;
use super::{files, jobs};

/// The longest time that a controller may take to remove a partition.
const REMOVAL_LIMIT: Duration = Duration::from_secs(120);

/// The time between two looks at a partition that is being removed.
const PAUSE: Duration = Duration::from_millis(200);

pub fn run(site: &Site) -> Result<()> {
    let journal = match &site.journal {
        Ok(journal) => journal,
        Err(why) => bail!("{}: {why}", site.journal_path().display()),
    };
    let jobs = jobs::read(site)?;
    let (in_use, unused): (Vec<_>, Vec<_>) =
        journal.iter().partition(|record| partitions::is_in_use(record, &jobs));
    let controllers = partitions::controllers(site)?;
    let runtime = partitions::runtime()?;
    let removed = |record: &LiveRecord| {
        runtime.block_on(remove(&controllers, record))?;
        remove_ipuof_files(record)
    };
    let failed = unused.into_iter().filter_map(|record| {
        removed(record).err().map(|why| format!("partition {}: {why:#}", record.claim.partition))
    });
    let failed: Vec<_> = failed.collect();
    ensure!(failed.is_empty(), "{}; mend this, and run this again", failed.join("; "));
    let in_use: Vec<_> = in_use.into_iter().map(|record| record.claim.partition.to_string()).collect();
    ensure!(in_use.is_empty(), "jobs still use {}; run this again after their end", in_use.join(" "));
    for path in files::written(site) {
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.with_context(|| format!("cannot remove {}", path.display()))?;
        println!("{}: removed", path.display());
    }
    Ok(())
}

/// Removes a partition, and waits until it is gone.
async fn remove(controllers: &[Controller], record: &LiveRecord) -> Result<()> {
    let (id, name) = (&record.claim.partition, record.claim.controller.to_string());
    let controller = controllers.iter().find(|controller| controller.name == name);
    let controller = controller.with_context(|| {
        format!("it is on controller {name}, which no vipu.conf names in ApiHost any more")
    })?;
    match controller.client.remove_partition(id, controller.force).await {
        Err(why) if why.class() == ErrorClass::NotFound => return Ok(()),
        removed => removed?,
    }
    let begun = Instant::now();
    loop {
        let answer = match controller.client.partition_status(id).await {
            Err(why) if why.class() == ErrorClass::NotFound => break,
            Err(why) => why.words().to_owned(),
            Ok(_) => "it is still there".to_owned(),
        };
        ensure!(begun.elapsed() < REMOVAL_LIMIT, "controller {name} does not get rid of it: {answer}");
        tokio::time::sleep(PAUSE).await;
    }
    println!("controller {name}: partition {id} removed");
    Ok(())
}

fn remove_ipuof_files(record: &LiveRecord) -> Result<()> {
    // A directory that is gone has no files.
    let Some(path) = record.ipuof_dir.as_ref().filter(|path| path.exists()) else { return Ok(()) };
    let directory = IpuofDir::open(path)?;
    Ok(directory.remove(&record.claim.partition, record.claim.shape.gcds)?)
}
