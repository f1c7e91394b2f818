//! The IPUoF files of a partition. Their directory is on record before any file exists. They are written once
//! the controller has made the partition.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use ledger::Event;
use tokio::task::spawn_local;
use vipu_types::{Words, words};

use super::{Create, Intent, Setback};
use crate::call_failure::Counts;
use crate::create_deadline::Stop;
use crate::resource_probes::FilesTrouble;
use crate::{Controller, Entry, Environment, Files, remove};

type Config<W> = <<W as Environment>::Controller as Controller>::Config;

impl<W: Environment> Create<'_, W> {
    /// Records that the partition is about to be made. If that is on record, a successor may have read the record, and
    /// reckons with one call.
    pub(super) async fn put_on_record(&mut self) -> Result<(), Setback> {
        let directory = self.pod.settings.ipuof_dir.clone();
        let wanted =
            Intent { directory: directory.clone(), unanswered: self.tracked.calls.number_unanswered() };
        if self.intent.as_ref() == Some(&wanted) {
            return self.still_in_charge().await;
        }
        self.move_to(directory.as_ref()).await?;
        self.trouble = "the journal is still being written".into();
        let intent = Entry::Create {
            claim: self.claim.clone(),
            ipuof_dir: directory.as_deref().map(Path::to_path_buf),
            stays: self.tracked.stays.get(),
            unanswered: wanted.unanswered,
        };
        self.tracked.recorded.set(true);
        self.tracked.withheld.set(None);
        self.tracked.begin_next_use();
        let recorded = self.deadline.hold(self.shared.resources.record(intent)).await?;
        recorded.map_err(|error| Setback::Trouble(Words::of(error)))?;
        let is_first = self.intent.replace(wanted).is_none();
        failpoints::hold!("intent");
        if is_first {
            self.shared.environment.report(Event::CreateStarted(self.claim.partition.clone()));
        }
        Ok(())
    }

    /// Makes `directory` the place of the files. Files that were written elsewhere before a change of
    /// configuration are deleted, because the record has one place only.
    async fn move_to(&mut self, directory: Option<&Arc<Path>>) -> Result<(), Setback> {
        let earlier = self.tracked.directory.borrow().clone();
        let has_files = !self.tracked.fileless.get();
        if let Some(earlier) = earlier.filter(|earlier| has_files && Some(earlier) != directory) {
            self.trouble = words!("its IPUoF files in {} are still there", earlier.display());
            self.withdraw(&earlier).await?;
        }
        self.tracked.directory.replace(directory.cloned());
        Ok(())
    }

    /// Deletes the files in a directory that may be away. The time while it is away does not count.
    async fn withdraw(&mut self, directory: &Arc<Path>) -> Result<(), Setback> {
        let resources = &self.shared.resources;
        let mut needs = resources.needs(self.pod.settings.ipuof_dir.as_ref());
        needs.push(resources.directory(directory));
        self.deadline.minds(&needs);
        let files = remove::delete_files(self.shared, self.tracked, self.claim, Some(Arc::clone(directory)));
        let withdrawn = self.deadline.hold(files).await?;
        withdrawn.map_err(|trouble| {
            Setback::Again(words!("an IPUoF file cannot be deleted: {}", trouble.words), Counts::Never)
        })
    }

    /// Gives tasks the controller's description of the partition.
    pub(super) async fn described(&mut self) -> Result<(), Setback> {
        self.trouble = "the controller has not given its IPUoF configuration".into();
        let config = self.deadline.hold(self.pod.controller.ipuof_config(self.on_controller())).await??;
        // The controller has done its part. A file system that hangs must not hold up other creates.
        self.slot = None;
        match self.pod.settings.ipuof_dir.clone() {
            Some(directory) => self.files(directory, config).await,
            None => {
                self.tracked.fileless.set(false);
                Ok(())
            }
        }
    }

    /// Writes the IPUoF files. After the deadline, the write goes on by itself. It then holds up only the
    /// deletion of these files.
    async fn files(&mut self, directory: Arc<Path>, config: Config<W>) -> Result<(), Setback> {
        self.trouble = words!("its IPUoF files are still being written to {}", directory.display());
        let (shared, tracked, claim) = (Rc::clone(self.shared), Rc::clone(self.tracked), self.claim.clone());
        let writing = spawn_local(async move {
            let _alone = tracked.files.lock().await;
            // An earlier slurmctld may have written some files. A failed write may leave these in place.
            let none_before = tracked.fileless.replace(false);
            let written = shared
                .resources
                .with_files(&directory, shared.environment.files().deliver(&directory, &claim, config));
            let written = written.await;
            tracked.fileless.set(none_before && written.is_err());
            written
        });
        match self.deadline.hold(writing).await? {
            Ok(Ok(())) => Ok(()),
            Ok(Err(FilesTrouble { words, is_shared, .. })) => {
                let words = words!("no IPUoF file: {words}");
                Err(if is_shared { Setback::Trouble(words) } else { Setback::Again(words, Counts::Always) })
            }
            Err(broken) => Err(Stop::Failed(words!("no IPUoF file: {broken}")).into()),
        }
    }
}
