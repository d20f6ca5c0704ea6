//! One plan split over machines that know nothing of each other: the same files give the same split on each.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::str::FromStr;

use super::plan::hash;

/// One share of a plan: `2/3` is the second of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

/// Why this is no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no shard; write I/N, as in 2/3, with I from 1 to N")]
pub struct ShardError(String);

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let wrong = || ShardError(text.to_owned());
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let (index, of) = (index.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if index == 0 || index > of || of > 10_000 {
            return Err(wrong());
        }
        Ok(Self { index, of })
    }
}

/// Which trials are this shard's, by id. Where `times` says how long trials took (microseconds), the longest are dealt
/// out first, each to the shard that has the least; a trial of unknown length counts as the middle one. Where it says
/// nothing each trial goes by its name alone, so that a scenario that is added moves no other.
pub(super) fn split(ids: &[&str], shard: Shard, times: &BTreeMap<String, u64>) -> Vec<bool> {
    if times.is_empty() {
        let of = u64::from(shard.of);
        return ids.iter().map(|id| hash(id, 0) % of == u64::from(shard.index) - 1).collect();
    }
    let mut known: Vec<_> = ids.iter().filter_map(|id| times.get(*id).copied()).collect();
    known.sort_unstable();
    let middle = known.get(known.len() / 2).copied().unwrap_or(1);
    let took = |id: &str| times.get(id).copied().unwrap_or(middle);
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|at| (Reverse(took(ids[*at])), ids[*at]));
    let mut loads = vec![0u64; shard.of as usize];
    let mut own = vec![false; ids.len()];
    for at in order {
        let Some(least) = (0..loads.len()).min_by_key(|shard| (loads[*shard], *shard)) else { break };
        loads[least] = loads[least].saturating_add(took(ids[at]).max(1));
        own[at] = least == shard.index as usize - 1;
    }
    own
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_shard_is_written_as_one_of_many() {
        assert_eq!("2/3".parse(), Ok(Shard { index: 2, of: 3 }));
        for wrong in ["", "2", "0/3", "4/3", "-1/3", "1/0", "a/b", "1/2/3", "1/99999999"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn long_trials_are_dealt_out_evenly() {
        let ids = ["a", "b", "c", "d", "e", "f"];
        let times = BTreeMap::from([("a".to_owned(), 60), ("b".to_owned(), 50), ("c".to_owned(), 10)]);
        // `d`, `e` and `f` count as 50: 60 + 50 + 10 and 50 + 50 + 50 would be uneven by more than any one of them.
        let own = split(&ids, Shard { index: 1, of: 2 }, &times);
        let load = |own: &[bool]| -> u64 {
            ids.iter()
                .zip(own)
                .filter(|(_, own)| **own)
                .map(|(id, _)| times.get(*id).copied().unwrap_or(50))
                .sum()
        };
        let (one, all) = (load(&own), load(&[true; 6]));
        assert!(one.abs_diff(all - one) <= 60, "{one} of {all}");
    }

    proptest! {
        #[test]
        fn every_trial_is_of_exactly_one_shard_whatever_is_known(
            names in prop::collection::btree_set("[a-z]{1,6}/[0-9]-[0-9]", 1..40),
            of in 1..9u32,
            known in prop::collection::vec(1..1_000_000u64, 0..40),
        ) {
            let ids: Vec<&str> = names.iter().map(String::as_str).collect();
            let times: BTreeMap<String, u64> = names.iter().cloned().zip(known).collect();
            let splits: Vec<_> =
                (1..=of).map(|index| split(&ids, Shard { index, of }, &times)).collect();
            for at in 0..ids.len() {
                prop_assert_eq!(splits.iter().filter(|own| own[at]).count(), 1);
            }
        }

        #[test]
        fn a_scenario_that_is_added_moves_no_other(
            names in prop::collection::btree_set("[a-z]{1,6}/[0-9]-[0-9]", 2..40), of in 1..9u32,
        ) {
            let ids: Vec<&str> = names.iter().map(String::as_str).collect();
            let shard = Shard { index: 1, of };
            let (all, fewer) = (split(&ids, shard, &BTreeMap::new()), split(&ids[1..], shard, &BTreeMap::new()));
            prop_assert_eq!(&all[1..], &fewer[..]);
        }
    }
}
