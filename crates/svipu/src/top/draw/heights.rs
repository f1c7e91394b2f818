//! The rows of each part of the screen.

/// The rows that each screen has: title, tabs, heads of the columns and keys.
const ALWAYS: u16 = 4;

/// The rows of the list that each screen has.
const LEAST_LIST: u16 = 2;

/// The rows of each part.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heights {
    pub(super) notes: u16,
    pub(super) map: u16,
    pub(super) numbers: u16,
    pub(super) used: u16,
    pub(super) waiting: u16,
    pub(super) gap: u16,
    pub(super) list: u16,
}

impl Heights {
    /// Shares the rows of a screen. The notes, the numbers and the map want so many.
    pub(super) fn new(height: u16, wanted: [usize; 3], has_history: bool) -> Self {
        let mut room = height.saturating_sub(ALWAYS + LEAST_LIST);
        let mut take = |wanted: u16| {
            let taken = wanted.min(room);
            room -= taken;
            taken
        };
        let [notes, numbers, map] = wanted.map(|wanted| u16::try_from(wanted).unwrap_or(u16::MAX));
        // Many notes and numbers must not drive out the map.
        let share = (height / 8).max(1);
        let (notes, numbers) = (take(notes.min(share)), take(numbers.min(share)));
        let map = take(map);
        let used = take(has_history.into());
        let mut heights = Self { notes, map, numbers, used, ..Self::default() };
        // What follows is nice to have, once the list has some rows more.
        if has_history && room >= 6 {
            (heights.waiting, room) = (1, room - 1);
        }
        if room >= 8 {
            (heights.gap, room) = (1, room - 1 - u16::from(has_history));
        }
        if has_history && room >= 14 {
            (heights.used, room) = (3, room - 2);
        }
        heights.list = LEAST_LIST + room;
        heights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_svipu_top_shares_each_height_without_rest() {
        for height in 8..100 {
            for wanted in [[0, 1, 1], [1, 2, 16], [9, 9, 99], [usize::MAX; 3]] {
                for history in [false, true] {
                    let all = Heights::new(height, wanted, history);
                    let sum = all.notes
                        + all.map
                        + all.numbers
                        + all.used
                        + all.waiting
                        + all.gap * (1 + u16::from(history))
                        + all.list;
                    assert_eq!(sum + ALWAYS, height, "{wanted:?} {all:?}");
                }
            }
        }
        let usual = Heights::new(24, [0, 1, 16], true);
        assert_eq!((usual.map, usual.numbers, usual.used, usual.list), (16, 1, 1, 2));
    }
}
