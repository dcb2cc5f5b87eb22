//! What is proved about a template program before it is used (contract/template.md, M-80 to M-86).
//!
//! A cell is walked for every assignment of the guards that its rules mention; the machine's graph, and its product with the grammar of
//! events, are walked exhaustively. Both readers walk in the same order, so that they name the same place.

use alloc::vec::Vec;

use super::template::{EVENTS, Event, NEVER, Program, Rule, guard};
use crate::error::Error;
use crate::error_code::ErrorCode;

const MAX_MENTIONED: u32 = 10;

/// Where in a request its events stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Begin,
    Tools,
    Schemas,
    Messages,
    Asks,
    Asked,
    Says,
    Said,
    Calls,
    Called,
    Closing,
    Continued,
    Stop,
}

/// Event, guards that are known then and their values, next place.
type Edge = (Event, u32, u32, Place);

const SCHEMAS: [Edge; 2] = [
    (Event::Schema, guard::FIRST | guard::LAST, guard::FIRST, Place::Schemas),
    (Event::Schema, guard::FIRST | guard::LAST, guard::FIRST | guard::LAST, Place::Messages),
];
const OTHERS: [Edge; 5] = [
    (Event::User, 0, 0, Place::Messages),
    (Event::Tool, 0, 0, Place::Messages),
    (Event::Assistant, guard::HAS_CALLS, guard::HAS_CALLS, Place::Asks),
    (Event::Assistant, guard::HAS_CALLS, 0, Place::Says),
    (Event::Finish, guard::CONTINUES, 0, Place::Stop),
];

/// What a request can say next.
fn grammar(place: Place) -> Vec<Edge> {
    let mut edges = Vec::new();
    let ends = guard::CONTINUES | guard::LAST;
    let inside = guard::CONTINUES | guard::HAS_CALLS;
    match place {
        Place::Begin => {
            let known = guard::FIRST | guard::TOOLS;
            edges.push((Event::System, known, known, Place::Tools));
            edges.push((Event::System, known, guard::FIRST, Place::Messages));
            edges.extend(SCHEMAS);
            edges.extend(OTHERS);
        }
        Place::Tools => edges.extend(SCHEMAS),
        Place::Schemas => {
            edges.push((Event::Schema, guard::FIRST | guard::LAST, 0, Place::Schemas));
            edges.push((Event::Schema, guard::FIRST | guard::LAST, guard::LAST, Place::Messages));
        }
        Place::Messages => {
            edges.push((Event::System, guard::FIRST, 0, Place::Messages));
            edges.extend(OTHERS);
        }
        Place::Asks => edges.push((Event::Reasoning, inside, guard::HAS_CALLS, Place::Asked)),
        Place::Asked => edges.push((Event::Content, inside, guard::HAS_CALLS, Place::Calls)),
        Place::Says => {
            edges.push((Event::Reasoning, inside, 0, Place::Said));
            edges.push((Event::Reasoning, ends | inside, ends, Place::Continued));
        }
        Place::Said => {
            edges.push((Event::Content, inside, 0, Place::Closing));
            edges.push((Event::Content, ends | inside, ends, Place::Continued));
        }
        Place::Calls => {
            let known = guard::FIRST | guard::LAST;
            edges.push((Event::Call, known, guard::FIRST, Place::Called));
            edges.push((Event::Call, known, known, Place::Closing));
        }
        Place::Called => {
            let known = guard::FIRST | guard::LAST;
            edges.push((Event::Call, known, 0, Place::Called));
            edges.push((Event::Call, known, guard::LAST, Place::Closing));
        }
        Place::Closing => edges.push((Event::Close, 0, 0, Place::Messages)),
        Place::Continued => edges.push((Event::Finish, guard::CONTINUES, guard::CONTINUES, Place::Stop)),
        Place::Stop => {}
    }
    edges
}

/// Refuse a program that is not total, has a state that cannot be reached or left, or lets events come to nothing.
#[inline(never)]
pub(crate) fn check(program: &Program) -> Result<(), Error> {
    check_total(program)?;
    check_reach(program)?;
    check_closed(program)
}

/// Guards for every case that the rules tell apart, those of `mask` being `value`.
fn assignments(rules: &[Rule], mask: u32, value: u32) -> impl Iterator<Item = u32> {
    let mentioned = rules.iter().fold(0, |all, rule| all | rule.mask) & !mask;
    let count = mentioned.count_ones();
    (0..1_u32 << count.min(MAX_MENTIONED)).map(move |chosen| {
        let (mut guards, mut place) = (value, count);
        for bit in (0..u32::BITS).filter(|bit| mentioned >> bit & 1 == 1) {
            place -= 1;
            guards |= (chosen >> place & 1) << bit;
        }
        guards
    })
}

/// Each case has a rule, and each rule a case: with the first that fits, the machine is total and deterministic.
fn check_total(program: &Program) -> Result<(), Error> {
    for state in 0..program.states.len() {
        for (number, (event, _)) in EVENTS.into_iter().enumerate() {
            let rules = program.cells.get(state * EVENTS.len() + number).map_or(&[][..], |rules| rules);
            if !is_total(rules) {
                return Err(refused(ErrorCode::ArtifactTemplateTotal, state, event));
            }
        }
    }
    Ok(())
}

fn is_total(rules: &[Rule]) -> bool {
    let mentioned = rules.iter().fold(0, |all, rule| all | rule.mask);
    if mentioned.count_ones() > MAX_MENTIONED {
        return false;
    }
    let mut hit = 0_u32;
    for guards in assignments(rules, 0, 0) {
        let Some(number) = rules.iter().position(|rule| rule.matches(guards)) else { return false };
        hit |= 1 << number;
    }
    hit.count_ones() as usize == rules.len()
}

/// Every state from INIT, and END from every state; nothing leads out of END.
fn check_reach(program: &Program) -> Result<(), Error> {
    let count = program.states.len();
    let pairs = edges(program);
    let back: Vec<(usize, usize)> = pairs.iter().map(|&(from, to)| (to, from)).collect();
    let end = count.saturating_sub(1);
    let (reached, ending) = (closure(count, 0, &pairs), closure(count, end, &back));
    for state in 0..count {
        let leaves_end = state == end && pairs.iter().any(|&(from, _)| from == state);
        if leaves_end || !reached.contains(&state) || !ending.contains(&state) {
            return Err(Error::new(ErrorCode::ArtifactTemplateReach, [("state", state.into())]));
        }
    }
    Ok(())
}

/// From state to state, in rendering and in replies.
fn edges(program: &Program) -> Vec<(usize, usize)> {
    let rules = program.cells.iter().enumerate().flat_map(|(cell, rules)| {
        let goes = rules.iter().filter(|rule| rule.refusal == 0);
        goes.map(move |rule| (cell / EVENTS.len(), usize::from(rule.target)))
    });
    let width = program.marks.len() + 2;
    let replies = program.reply.iter().enumerate().filter(|(_, (does, _))| *does != 0);
    rules.chain(replies.map(|(cell, &(_, target))| (cell / width, usize::from(target)))).collect()
}

fn closure(count: usize, start: usize, pairs: &[(usize, usize)]) -> Vec<usize> {
    let mut reached = Vec::from([start]);
    // Each round adds a state or is the last.
    for _ in 0..count {
        for &(from, to) in pairs {
            if reached.contains(&from) && !reached.contains(&to) {
                reached.push(to);
            }
        }
    }
    reached
}

/// No sequence of events comes to a cell that is said never to be reached.
fn check_closed(program: &Program) -> Result<(), Error> {
    let mut seen = Vec::from([(Place::Begin, 0_u8)]);
    let mut next = 0;
    while let Some(&(place, state)) = seen.get(next) {
        next += 1;
        for (event, mask, value, after) in grammar(place) {
            let rules = program.cell(state, event);
            for guards in assignments(rules, mask, value) {
                let Some(rule) = rules.iter().find(|rule| rule.matches(guards)) else { continue };
                if rule.refusal == NEVER {
                    return Err(refused(ErrorCode::ArtifactTemplateClosed, state.into(), event));
                }
                let node = (after, rule.target);
                if rule.refusal == 0 && !seen.contains(&node) {
                    seen.push(node);
                }
            }
        }
    }
    Ok(())
}

fn refused(code: ErrorCode, state: usize, event: Event) -> Error {
    Error::new(code, [("state", state.into()), ("event", (event as usize).into())])
}
