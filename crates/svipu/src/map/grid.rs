//! The grid of a Pod: rows of IPU-Link domains with a mark for each IPU.

use std::collections::BTreeMap;

use vipu_status::{Model, OtherIpus, Place, Pod};

use crate::ipu_use::Use;
use crate::page::{Cell, Page, Tone};

/// The IPUs of the largest Pod that is drawn.
const MOST_IPUS: u32 = 1 << 16;

/// The greatest number of IPUs of a domain that stand in one row.
const IN_A_ROW: usize = 64;

/// LinkDomainSize of a model that names none.
const USUAL_DOMAIN: u32 = 64;

/// A domain by its id.
pub(super) type Domain<'a> = (u32, &'a [Cell]);

/// The IPUs of a Pod by domain, each with its mark.
pub(crate) struct Grid {
    domains: BTreeMap<u32, Vec<Cell>>,
    /// The IPUs that have no cell, because their places lie outside the Pod.
    outside: usize,
}

impl Grid {
    /// A grid of free IPUs. None, if the Pod is too large. `known` has the places that the document names.
    pub(crate) fn new<'a>(
        model: &Model,
        pod: &'a Pod,
        known: impl Iterator<Item = &'a Place>,
    ) -> Option<Self> {
        let total = pod.ipus.total;
        if total > MOST_IPUS {
            return None;
        }
        let size = if model.domain_size == 0 { USUAL_DOMAIN } else { model.domain_size }.min(total).max(1);
        let count = total.div_ceil(size);
        let known = known.chain(pod.others.iter().flat_map(|other| &other.places));
        let mut ids: std::collections::BTreeSet<u32> = known.map(|place| place.domain).collect();
        // The document names no domain that is all free. The lowest ids are the likely ones.
        let mut likely = 0..;
        while ids.len() < count as usize
            && let Some(id) = likely.next()
        {
            ids.insert(id);
        }
        let (kind, free) = (Use::Free.tone(), Use::Free.name().1);
        let domain = |id| (id, vec![(free, kind); size as usize]);
        let mut domains: BTreeMap<u32, Vec<Cell>> =
            ids.into_iter().take(count as usize).map(domain).collect();
        // The last domain may be a part of one. The cells behind its IPUs stay blank.
        let blank = (count * size).saturating_sub(total);
        if let Some(mut last) = domains.last_entry() {
            last.get_mut()
                .iter_mut()
                .skip((size - blank) as usize)
                .for_each(|cell| *cell = (' ', Tone::Plain));
        }
        Some(Self { domains, outside: 0 })
    }

    /// Puts the marks of drained IPUs, and over them those of IPUs that no job has and that are not free. `None` drains
    /// all IPUs.
    pub(crate) fn put_unusable<'a>(
        &mut self,
        drained: impl Iterator<Item = Option<Vec<Place>>>,
        others: impl Iterator<Item = &'a OtherIpus>,
    ) {
        let put = |cell: &mut Cell| {
            if cell.0 != ' ' {
                *cell = (Use::Drained.name().1, Use::Drained.tone());
            }
        };
        for places in drained {
            match places {
                None => self.domains.values_mut().flatten().for_each(put),
                Some(places) => places.iter().for_each(|place| self.cell(place).into_iter().for_each(put)),
            }
        }
        for other in others {
            let kind = Use::of_other(other.because);
            self.put(&other.places, kind.name().1, kind.tone());
        }
    }

    /// Puts a mark on places.
    pub(crate) fn put(&mut self, places: &[Place], mark: char, tone: Tone) {
        for place in places {
            match self.cell(place) {
                Some(cell) => *cell = (mark, tone),
                None => self.outside += 1,
            }
        }
    }

    fn cell(&mut self, place: &Place) -> Option<&mut Cell> {
        self.domains.get_mut(&place.domain)?.get_mut(place.index as usize)
    }

    /// The IPUs in their order, each with its mark.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (Place, Cell)> {
        let of_domain = |(id, cells): (&u32, &Vec<Cell>)| {
            let domain = *id;
            let at = move |(index, cell)| (Place { domain, index }, cell);
            (0..).zip(cells.clone()).map(at).filter(|(_, (mark, _))| *mark != ' ')
        };
        self.domains.iter().flat_map(of_domain)
    }

    /// Adds the grid to the page with lines of `columns`, and returns the number of its lines.
    pub(crate) fn add(&self, page: &mut Page, columns: usize) -> usize {
        let label = self.label_width(columns);
        let width = columns.saturating_sub(label);
        let in_a_row = IN_A_ROW.min(1 << width.checked_ilog2().unwrap_or(0));
        let mut lines = 0;
        for row in self.rows(width) {
            for part in 0..row[0].1.len().div_ceil(in_a_row) {
                let name = if part == 0 { name(&row) } else { String::new() };
                line(page, &format!("{name:label$}"), &row, (part, in_a_row));
                lines += 1;
            }
        }
        if self.outside > 0 {
            page.line(&format!("Not drawn: {} IPUs with places outside the Pod.", self.outside));
            lines += 1;
        }
        lines
    }

    /// The width of the longest label with a space behind it.
    pub(super) fn label_width(&self, columns: usize) -> usize {
        let longest = self.domains.last_key_value().map_or(1, |(id, _)| id.to_string().len());
        let one = self.domains.values().next().is_none_or(|cells| cells.len() >= columns / 2);
        if one { longest + 1 } else { 2 * longest + 2 }
    }

    /// The domains that stand in each row. Their ids follow each other.
    pub(super) fn rows(&self, width: usize) -> Vec<Vec<Domain<'_>>> {
        let mut rows: Vec<Vec<Domain<'_>>> = Vec::new();
        for (id, cells) in &self.domains {
            let fits = |row: &&mut Vec<Domain<'_>>| {
                let follows = row.last().is_some_and(|(last, _)| last.checked_add(1) == Some(*id));
                follows && (row.len() + 1) * (cells.len() + gap(cells)) <= width + gap(cells)
            };
            match rows.last_mut().filter(fits) {
                Some(row) => row.push((*id, cells)),
                None => rows.push(vec![(*id, cells)]),
            }
        }
        rows
    }
}

/// The spaces between two domains. The smallest domains stand without any, so that 1,024 IPUs fit.
fn gap(cells: &[Cell]) -> usize {
    usize::from(cells.len() > 2)
}

/// The label of a row: the ids of its domains.
pub(super) fn name(row: &[Domain<'_>]) -> String {
    match row {
        [(first, _), .., (last, _)] => format!("{first}-{last}"),
        [(only, _)] => only.to_string(),
        [] => String::new(),
    }
}

/// Adds a line: this part of each domain, in parts of this length.
fn line(page: &mut Page, label: &str, row: &[Domain<'_>], (part, in_a_row): (usize, usize)) {
    let space = (' ', Tone::Plain);
    let of_domain = |(place, (_, cells)): (usize, &Domain<'_>)| {
        let cells = cells.chunks(in_a_row).nth(part).unwrap_or_default();
        let gap = (place > 0 && gap(cells) > 0).then_some(space);
        gap.into_iter().chain(cells.iter().copied()).collect::<Vec<_>>()
    };
    page.cells(label, row.iter().enumerate().flat_map(of_domain));
}
