//! The output of `scontrol show job`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::{JobId, JobView};

/// Keys whose values may have spaces.
const FREE_TEXT: [&str; 2] = ["JobName=", "SystemComment="];

/// The values that `scontrol show job` prints for one job, by their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord(BTreeMap<String, String>);

impl JobRecord {
    pub(crate) fn parse_all(text: &str) -> Vec<Self> {
        let records = text.split("\n\n").filter(|record| record.trim_start().starts_with("JobId="));
        records.map(Self::parse).collect()
    }

    fn parse(record: &str) -> Self {
        let mut values = BTreeMap::new();
        for line in record.lines().map(str::trim) {
            // Free text ends its line; other values have no spaces.
            let text = FREE_TEXT.iter().find_map(|key| line.find(key));
            let (words, text) = line.split_at(text.unwrap_or(line.len()));
            let pairs = words.split(' ').chain([text]).filter_map(|pair| pair.split_once('='));
            values.extend(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
        }
        Self(values)
    }

    pub(crate) fn is_of(&self, job: JobId) -> bool {
        self.get("JobId").is_ok_and(|shown| shown == job.to_string())
    }

    pub fn get(&self, key: &str) -> Result<&str> {
        self.0.get(key).map(String::as_str).with_context(|| format!("scontrol shows no {key}: {:?}", self.0))
    }

    pub fn view(&self) -> Result<JobView> {
        let text =
            |key: &str| self.get(key).ok().filter(|text| *text != "(null)").unwrap_or_default().to_owned();
        Ok(JobView {
            id: self.get("JobId")?.parse()?,
            array: self.get("ArrayJobId").ok().and_then(|job| job.parse().ok()),
            array_task: self.get("ArrayTaskId").ok().and_then(|task| task.parse().ok()),
            name: text("JobName"),
            state: text("JobState"),
            reason: text("Reason"),
            system_comment: text("SystemComment"),
            exit_code: text("ExitCode"),
            restarts: self.get("Restarts")?.parse()?,
            nodes: text("NodeList"),
            is_batch: self.get("BatchFlag").is_ok_and(|flag| flag != "0"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scontrol_records_are_read() {
        let text = "JobId=7 ArrayJobId=5 ArrayTaskId=2 JobName=a b=c\n   UserId=root(0) GroupId=root(0)\n   \
                    JobState=PENDING Reason=IPUs:_16_asked,_8_free Dependency=(null)\n   \
                    Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:15\n   NodeList=(null)\n   \
                    SystemComment=no room for slurm_7, x=y\n   Power=\n   \n\n\
                    JobId=8 BatchFlag=0 JobName=x\n   JobState=COMPLETED Reason=None\n   Restarts=0 ExitCode=1:0\n   \
                    NodeList=ipu-pod64-001\n";
        let views: Vec<_> = JobRecord::parse_all(text).iter().map(|record| record.view().unwrap()).collect();
        assert_eq!(views.len(), 2);
        let first = &JobRecord::parse_all(text)[0];
        assert_eq!(first.get("UserId").unwrap(), "root(0)");
        assert!(first.get("Nodes").is_err());
        assert_eq!(views[0].id, JobId(7));
        assert_eq!((views[0].array, views[0].array_task), (Some(JobId(5)), Some(2)));
        assert_eq!(views[0].name, "a b=c");
        assert_eq!(views[0].reason, "IPUs:_16_asked,_8_free");
        assert_eq!(views[0].system_comment, "no room for slurm_7, x=y");
        assert_eq!((views[0].restarts, views[0].exit_code.as_str()), (2, "0:15"));
        assert!(views[0].nodes.is_empty() && !views[0].is_over());
        assert_eq!((views[1].state.as_str(), views[1].nodes.as_str()), ("COMPLETED", "ipu-pod64-001"));
        assert!(views[1].is_over());
        assert_eq!((views[0].is_batch, views[1].is_batch), (true, false));
    }
}
