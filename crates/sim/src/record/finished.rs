//! Rows of flows, kept packed from the moment at which a flow is over. Rows come in order of the ends of
//! flows, and leave in order of their numbers.

use dumbbell_model::tables::{FlowRow, Table, TransferRow, BLOCK_ROWS, FLOWS, TRANSFERS};

/// Rows of a flow: its totals, and its transfer if it has finished one.
pub(crate) type Rows = (FlowRow, Option<TransferRow>);

/// Rows of [`BLOCK_ROWS`] flows with consecutive numbers.
enum Block {
    /// Rows of some of them, by number, and how many.
    Open(Vec<Option<Box<Rows>>>, usize),
    /// Rows of all of them.
    Packed(Table, Table),
}

/// Rows of flows that are over.
#[derive(Default)]
pub(crate) struct Finished {
    blocks: Vec<Block>,
}

impl Finished {
    /// Keeps the rows of the flow with this number.
    pub(crate) fn keep(&mut self, number: usize, rows: Rows) {
        let (at, place) = (number / BLOCK_ROWS, number % BLOCK_ROWS);
        while self.blocks.len() <= at {
            self.blocks.push(Block::Open(Vec::new(), 0));
        }
        let block = &mut self.blocks[at];
        if let Block::Open(kept, count) = block {
            if kept.len() <= place {
                kept.resize_with(place + 1, || None);
            }
            *count += usize::from(kept[place].is_none());
            kept[place] = Some(Box::new(rows));
            if *count == BLOCK_ROWS {
                let (flows, transfers) = packed(kept);
                *block = Block::Packed(flows, transfers);
            }
        }
    }

    /// Tables `flows` and `transfers` of all flows kept, in order of their numbers.
    pub(crate) fn tables(self) -> [Table; 2] {
        let [mut flows, mut transfers] = [Table::new(&FLOWS), Table::new(&TRANSFERS)];
        for block in self.blocks {
            let (more, moved) = match block {
                Block::Open(kept, _) => packed(&kept),
                Block::Packed(flows, transfers) => (flows, transfers),
            };
            flows.append(more);
            transfers.append(moved);
        }
        [flows, transfers]
    }
}

fn packed(rows: &[Option<Box<Rows>>]) -> (Table, Table) {
    let (mut flows, mut transfers) = (Table::new(&FLOWS), Table::new(&TRANSFERS));
    for (flow, transfer) in rows.iter().flatten().map(AsRef::as_ref) {
        flow.append_to(&mut flows);
        if let Some(transfer) = transfer {
            transfer.append_to(&mut transfers);
        }
    }
    flows.seal();
    transfers.seal();
    (flows, transfers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_model::tables::Column;

    #[test]
    fn rows_leave_in_order_of_numbers() {
        const FLOWS: usize = 2 * BLOCK_ROWS + 100;
        let mut finished = Finished::default();
        // 7 and the number of flows have no common divisor: every flow once, far from in order.
        for number in (0..FLOWS).map(|i| 7 * i % FLOWS) {
            let flow = format!("web.{number}");
            let row = FlowRow { flow: flow.clone(), ..FlowRow::default() };
            let transfer = TransferRow { flow, ..TransferRow::default() };
            finished.keep(number, (row, (number % 3 == 0).then_some(transfer)));
        }
        let packed = finished.blocks.iter().filter(|block| matches!(block, Block::Packed(..)));
        assert_eq!(packed.count(), 2);
        let names = finished.tables().map(|table| match &table.columns[0] {
            Column::Text(names) => names.to_vec(),
            _ => Vec::new(),
        });
        let wanted = |every| (0..FLOWS).step_by(every).map(|i| format!("web.{i}")).collect();
        assert_eq!(names, [1, 3].map(wanted).map(|names: Vec<String>| names));
    }
}
