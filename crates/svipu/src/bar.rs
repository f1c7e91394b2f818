//! The bar of a model: its IPUs by use.

use crate::page::{Page, Tone};
use crate::uses::Use;

/// The greatest number of cells. A smaller model has a cell for each IPU.
const CELLS: u64 = 64;

/// Adds the bar of these counts.
pub(crate) fn add(page: &mut Page, counts: &[(Use, u64)]) {
    let blocks = page.has_blocks();
    let part = |(kind, cells): (Use, u64)| {
        let mark = if blocks { kind.block() } else { kind.name().1 };
        (kind.tone(), mark.to_string().repeat(usize::try_from(cells).unwrap_or(0)))
    };
    let parts: Vec<_> = cells(counts).into_iter().map(part).collect();
    let mut pieces = vec![(Tone::Plain, "  [")];
    pieces.extend(parts.iter().map(|(tone, text)| (*tone, text.as_str())));
    pieces.push((Tone::Plain, "]"));
    page.toned(&pieces);
}

/// The cells of each use. Each use that has IPUs gets a cell.
fn cells(counts: &[(Use, u64)]) -> Vec<(Use, u64)> {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let all = total.min(CELLS);
    let share = |count: u64| match count {
        0 => 0,
        _ => (count * all / total).max(1),
    };
    let mut cells: Vec<_> = counts.iter().map(|(kind, count)| (*kind, share(*count))).collect();
    // Rounding leaves a few cells over or too few: the largest use takes the difference.
    let sum: u64 = cells.iter().map(|(_, cells)| cells).sum();
    if let Some((_, largest)) = cells.iter_mut().max_by_key(|(_, cells)| *cells) {
        *largest = (*largest + all).saturating_sub(sum);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_svipu_bar_has_a_cell_for_each_use() {
        let shares = |used, faulty, free| {
            let counts = [(Use::Used, used), (Use::Faulty, faulty), (Use::Free, free)];
            cells(&counts).iter().map(|(_, cells)| *cells).collect::<Vec<_>>()
        };
        assert_eq!(shares(0, 0, 0), [0, 0, 0]);
        assert_eq!(shares(4, 0, 12), [4, 0, 12]);
        assert_eq!(shares(1000, 1, 23), [62, 1, 1]);
    }
}
