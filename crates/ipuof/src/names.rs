//! The names of a partition's files.

use vipu_types::PartitionId;

/// The file name for GCD `gcd` of a partition with `gcds` GCDs.
///
/// `gc-info` shows the stem to users, so the file of a partition with one GCD has the partition's name.
pub fn file_name(partition: &PartitionId, gcd: u32, gcds: u32) -> String {
    if gcds <= 1 { format!("{partition}.conf") } else { format!("{partition}_gcd{gcd}.conf") }
}

/// The names of all files of a partition.
pub(crate) fn file_names(partition: &PartitionId, gcds: u32) -> impl Iterator<Item = String> {
    (0..gcds.max(1)).map(move |gcd| file_name(partition, gcd, gcds))
}
