//! Values that are one of a few words.

use crate::value::Value;

/// Makes of each list of words an enumeration with `name`, a reader, and the unit of its key.
macro_rules! choices {
    ($($(#[$doc:meta])* $type:ident, $not:literal {
        $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+
    })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $type {
            /// The words, as the documentation of a key lists them.
            pub(crate) const UNIT: &'static str = choices!(@unit $($word),+);

            /// Its word in the file.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// Reads a word, whatever its case.
            pub(crate) fn read(text: &str) -> Value<Self> {
                let mut all = [$(Self::$variant),+].into_iter();
                let found = all.find(|one| one.name().eq_ignore_ascii_case(text));
                found.ok_or_else(|| format!("{} ({})", $not, [$($word),+].join(", ")))
            }
        }
    )+};
    (@unit $last:literal) => { $last };
    (@unit $word:literal, $last:literal) => { concat!($word, " or ", $last) };
    (@unit $word:literal, $($more:literal),+) => { concat!($word, ", ", choices!(@unit $($more),+)) };
}

choices! {
    /// The stock selector that lies under ours; its word is that of `SelectType`, too.
    Layer, "not a layer" {
        /// `select/cons_tres`.
        ConsTres = "cons_tres",
        /// `select/linear`.
        Linear = "linear",
    }

    /// Who chooses the IPUs of a partition.
    Placement, "not a placement" {
        /// The controller.
        Controller = "controller",
        /// The plugin.
        Explicit = "explicit",
    }

    /// What becomes of a job whose partition fails or vanishes while it runs.
    OnPartitionError, "not known" {
        /// It runs on: its program may see to it.
        Leave = "leave",
        /// A batch job goes back into the queue, any other ends.
        Requeue = "requeue",
        /// It ends.
        Kill = "kill",
    }

    /// What becomes of a request for a number of IPUs that no partition has.
    SizePolicy, "not known" {
        /// It is refused.
        Reject = "reject",
        /// It gets the next larger partition.
        RoundUp = "round-up",
    }

    /// Which jobs get a partition before they have nodes.
    Prepare, "not known" {
        /// None.
        No = "no",
        /// Those without a batch script: of srun and salloc.
        Interactive = "interactive",
        /// All.
        All = "all",
    }
}

impl Prepare {
    /// Whether it is for a job that has a batch script, or has none.
    #[must_use]
    pub const fn is_for(self, is_batch: bool) -> bool {
        match self {
            Prepare::No => false,
            Prepare::Interactive => !is_batch,
            Prepare::All => true,
        }
    }
}
