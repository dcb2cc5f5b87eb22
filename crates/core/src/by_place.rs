//! Values by their place in a list: of messages, of passages.

use alloc::vec::Vec;

/// At most one value for each place.
#[derive(Clone, Debug)]
pub(crate) struct ByPlace<T>(Vec<Option<T>>);

impl<T> Default for ByPlace<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ByPlace<T> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        self.0.get(place)?.as_ref()
    }

    pub(crate) fn insert(&mut self, place: usize, value: T) {
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        if let Some(found) = self.0.get_mut(place) {
            *found = Some(value);
        }
    }

    /// Forget the values of the first places.
    pub(crate) fn forget(&mut self, places: usize) {
        self.0.iter_mut().take(places).for_each(|value| *value = None);
    }

    /// Places that have a value, rising.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.0.iter().enumerate().filter_map(|(place, value)| Some((place, value.as_ref()?)))
    }
}
