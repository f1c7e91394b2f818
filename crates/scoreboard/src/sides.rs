//! Both sides of a comparison, which take turns.

use anyhow::Result;
use testbed::{Cluster, Settings, programs::Build};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    /// Stock Slurm without our plugins, or whatever else ours is compared with.
    Stock,
}

impl Side {
    /// Whether it has our plugins. The other side has those of an [earlier build](Build::earlier), if there is one.
    pub(crate) fn has_plugins(self) -> bool {
        self == Self::Ours || Build::earlier().is_ok()
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) ours: f64,
    pub(crate) stock: f64,
}

impl Pair {
    pub(crate) fn of(self, side: Side) -> f64 {
        match side {
            Side::Ours => self.ours,
            Side::Stock => self.stock,
        }
    }
}

/// Measures this many pairs. The sides take turns to go first, so that slow changes of the machine affect both alike.
pub(crate) fn alternate<T>(pairs: usize, mut measure: impl FnMut(Side) -> Result<T>) -> Result<Vec<(T, T)>> {
    let pair = |number: usize| {
        if number.is_multiple_of(2) {
            let stock = measure(Side::Stock)?;
            return Ok((measure(Side::Ours)?, stock));
        }
        Ok((measure(Side::Ours)?, measure(Side::Stock)?))
    };
    (0..pairs).map(pair).collect()
}

pub(crate) fn pairs<T>(measured: &[(T, T)], value: impl Fn(&T) -> f64) -> Vec<Pair> {
    measured.iter().map(|(ours, stock)| Pair { ours: value(ours), stock: value(stock) }).collect()
}

/// The settings of a cluster for measurements. Daemons log as those of a site do.
pub(crate) fn settings(side: Side) -> Settings {
    let settings =
        Cluster::settings().slurm_conf("SlurmctldDebug=info").slurm_conf("SlurmdDebug=info").logs_stay();
    on_side(settings, side)
}

/// Gives these settings the plugins of a side.
pub(crate) fn on_side(settings: Settings, side: Side) -> Settings {
    match (side, Build::earlier()) {
        (Side::Ours, _) => settings,
        (Side::Stock, Ok(earlier)) => settings.build(&earlier),
        (Side::Stock, Err(_)) => settings.without_plugin(),
    }
}

/// Runs `body` beside two clusters, one of each side.
pub(crate) fn with_both<T>(
    settings: impl Fn(Side) -> Settings,
    body: impl FnOnce(&Both<'_>) -> Result<T>,
) -> Result<T> {
    settings(Side::Ours).run(|ours| settings(Side::Stock).run(|stock| body(&Both { ours, stock })))
}

pub(crate) struct Both<'a> {
    ours: &'a Cluster,
    stock: &'a Cluster,
}

impl Both<'_> {
    pub(crate) fn cluster(&self, side: Side) -> &Cluster {
        match side {
            Side::Ours => self.ours,
            Side::Stock => self.stock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_take_turns_to_go_first() {
        let mut order = Vec::new();
        let measured = alternate(2, |side| {
            order.push(side);
            Ok(order.len())
        });
        assert_eq!(order, [Side::Stock, Side::Ours, Side::Ours, Side::Stock]);
        assert_eq!(measured.unwrap(), [(2, 1), (3, 4)]);
    }
}
