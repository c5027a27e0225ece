import BatonModel
import BatonStore

extension StoreConformance {
  /// A receipt says how many commits the store has made (promise P12).
  static let receipts: [Case] = [
    Case("the receipt after an answer covers it, and rises with every change") { s in
      var last = s.store.receipt
      let definition = try await s.define("com.*").id
      for index in 0..<3 {
        try await s.submit("com.\(index)", to: definition)
        let receipt = s.store.receipt
        try expect(receipt.store, last.store, "the store's name")
        try expect(receipt.sequence > last.sequence, "the receipt did not rise")
        try expect(try await s.store.standing(of: [receipt]), .covered, "the last receipt")
        last = receipt
      }
      try expect(try await s.store.fleet().storeIncarnation, last.store, "whose receipt it is")
    },
    Case("what changes nothing is not counted") { s in
      let before = s.store.receipt
      _ = try await s.store.promote(at: s.now, limit: 9)
      try expect(s.store.receipt, before, "the receipt")
    },
    Case("a receipt that says more than the store has is noticed; one of another store is foreign") { s in
      try await s.define("job")
      let receipt = s.store.receipt
      let ahead = Receipt(store: receipt.store, tenure: receipt.tenure, sequence: receipt.sequence + 1)
      try expect(try await s.store.standing(of: [ahead]), .ahead(receipt: ahead, known: receipt), "one commit more")
      let lost = Receipt(store: receipt.store, tenure: receipt.tenure ^ 1, sequence: 0)
      try expect(
        try await s.store.standing(of: [lost, receipt]), .ahead(receipt: lost, known: receipt),
        "of a start that the store has not seen")
      let other = Receipt(store: "other", tenure: receipt.tenure, sequence: 0)
      try expect(try await s.store.standing(of: [other]), .foreign, "another store")
    },
    Case("a store that went backwards has another name, pauses, and still covers what it covered") { s in
      try await s.define("job")
      let receipt = s.store.receipt
      try await s.store.renewIncarnation(of: receipt.store, as: "renewed")
      let fleet = try await s.store.fleet()
      try expect(fleet.storeIncarnation == receipt.store, false, "the name stayed")
      try expect(s.store.receipt.store, fleet.storeIncarnation, "whose receipt it is")
      try expect(s.store.receipt.sequence > receipt.sequence, "the receipt did not rise")
      try expect(fleet.isPaused, true, "isPaused")
      try expect(try await s.store.standing(of: [receipt]), .covered, "a receipt of before")
      let lost = Receipt(store: receipt.store, tenure: receipt.tenure ^ 1, sequence: 0)
      let known = Receipt(store: receipt.store, tenure: receipt.tenure, sequence: s.store.receipt.sequence)
      try expect(try await s.store.standing(of: [lost]), .ahead(receipt: lost, known: known), "what it lacks")
      try await s.store.renewIncarnation(of: receipt.store, as: "again")
      try expect(try await s.store.fleet().storeIncarnation, fleet.storeIncarnation, "the name after a second word")
      let moment = s.now
      try await s.store.beat(ClockReading(moment: moment, boot: "", instant: Instant(nanoseconds: 0)))
    },
  ]
}
