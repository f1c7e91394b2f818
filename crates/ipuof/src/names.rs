//! What the files of a partition are called.

use vipu_types::PartitionId;

/// The name of the file of GCD `gcd` of a partition that has `gcds` of them.
///
/// The stem is what `gc-info` shows people, so a partition with one GCD has a file of its own name.
#[must_use]
pub fn file_name(partition: &PartitionId, gcd: u32, gcds: u32) -> String {
    if gcds <= 1 { format!("{partition}.conf") } else { format!("{partition}_gcd{gcd}.conf") }
}

/// The names of all files of a partition.
pub(crate) fn file_names(partition: &PartitionId, gcds: u32) -> impl Iterator<Item = String> {
    (0..gcds.max(1)).map(move |gcd| file_name(partition, gcd, gcds))
}
