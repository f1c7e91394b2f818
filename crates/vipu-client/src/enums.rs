//! The API's enumerations, open to numbers that a newer controller may send.

use crate::wire;

macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident = $wire:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $wire_variant:ident,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name {
            /// Not given: the controller chooses, or does not know.
            #[default]
            Undefined,
            $($(#[$variant_doc])* $variant,)+
            /// A number this client does not know.
            Unknown(i32),
        }

        impl From<i32> for $name {
            fn from(number: i32) -> Self {
                match wire::$wire::try_from(number) {
                    $(Ok(wire::$wire::$wire_variant) => Self::$variant,)+
                    Ok(_) => Self::Undefined,
                    Err(_) => Self::Unknown(number),
                }
            }
        }
    };
}

open_enum! {
    /// Whether a partition can be used.
    ReadyState = PartitionReadyState {
        /// Not yet.
        Pending = PsPending,
        /// Yes.
        Active = PsActive,
        /// Not any more.
        Removed = PsRemoved,
        /// No; the status says why.
        Error = PsError,
    }
}

open_enum! {
    /// The operation that is under way on a partition.
    OperationState = PartitionOperationState {
        /// No operation.
        Idle = PosIdle,
        /// The partition is being made.
        Creating = PosCreating,
        /// The partition is being removed.
        Removing = PosRemoving,
        /// The partition is being reset.
        Resetting = PosResetting,
        /// The last operation failed.
        Failed = PosFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_have_their_names_and_others_stay_numbers() {
        let ready = [0, 2, 17].map(ReadyState::from);
        assert_eq!(ready, [ReadyState::Undefined, ReadyState::Active, ReadyState::Unknown(17)]);
    }
}
