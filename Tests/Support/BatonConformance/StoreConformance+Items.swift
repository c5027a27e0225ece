import BatonModel
import BatonStore

extension StoreConformance {
  static let items: [Case] = [
    Case("items come back as they were sent, whatever is in them") { s in
      let (_, launch) = try await s.running()
      let strange = ["", "a\nb", "nul\u{0}nul", "é🚀", String(repeating: "x", count: 100_000), "last"]
      let answer = try await s.append(ItemPage(launch: launch, start: 0, items: strange, isLast: true))
      try expect(answer, .committed(count: 6, isFrozen: true), "the answer")
      try expect(try await s.store.items(of: launch.request, start: 0, count: 100), strange, "all items")
      try expect(try await s.store.items(of: launch.request, start: 1, count: 2), ["a\nb", "nul\u{0}nul"], "some")
      try expect(try await s.store.items(of: launch.request, start: 6, count: 2), [], "none")
      try expect(try await s.record(launch.request).frozenItems, 6, "how many are frozen")
    },
    Case("items are frozen with the last page, and reads cross pages") { s in
      let (definition, launch) = try await s.running()
      let pages = (0..<3).map { page in (0..<1000).map { "item-\(page * 1000 + $0)" } }
      for (index, page) in pages.enumerated() {
        try expect(try await s.record(launch.request).frozenItems == nil, "frozen before the last page")
        let answer = try await s.append(
          ItemPage(launch: launch, start: index * 1000, items: page, isLast: index == 2))
        try expect(answer, .committed(count: (index + 1) * 1000, isFrozen: index == 2), "page \(index)")
      }
      let across = try await s.store.items(of: launch.request, start: 998, count: 1004)
      try expect(across, (998..<2002).map { "item-\($0)" }, "items across three pages")
      try await s.end(launch, .expired(.evicted))
      try expect(try await s.claim(definition).assignments.map(\.frozenItems), [3000], "what the next launch is told")
    },
    Case("a repeated page is answered again, one that leaves a gap is refused") { s in
      let (_, launch) = try await s.running()
      let page = ItemPage(launch: launch, start: 0, items: ["a", "b"])
      try expect(try await s.append(page), .committed(count: 2, isFrozen: false), "the first time")
      try expect(try await s.append(page), .committed(count: 2, isFrozen: false), "the second time")
      guard case .refused(let text) = try await s.append(ItemPage(launch: launch, start: 3, items: ["d"])),
        text.contains("2")
      else { throw Violation(description: "a gap was accepted") }
      let large = ItemPage(launch: launch, start: 2, items: Array(repeating: "x", count: 1001))
      guard case .refused = try await s.append(large) else {
        throw Violation(description: "a page of 1001 items was accepted")
      }
      let last = ItemPage(launch: launch, start: 2, items: [], isLast: true)
      try expect(try await s.append(last), .committed(count: 2, isFrozen: true), "an empty last page")
      try expect(try await s.append(page), .committed(count: 2, isFrozen: true), "a page after freezing")
    },
    Case("pages of a launch that died halfway are dropped when the next one starts over") { s in
      let (definition, first) = try await s.running()
      _ = try await s.append(ItemPage(launch: first, start: 0, items: ["old-0", "old-1"]))
      try await s.end(first, .lost)
      try expect(
        try await s.append(ItemPage(launch: first, start: 2, items: ["late"])), .superseded, "a late page")
      let second = try await s.start(definition)
      guard case .refused = try await s.append(ItemPage(launch: second, start: 2, items: ["x"])) else {
        throw Violation(description: "a new launch went on with another's pages")
      }
      _ = try await s.append(ItemPage(launch: second, start: 0, items: ["new"], isLast: true))
      try expect(try await s.store.items(of: first.request, start: 0, count: 9), ["new"], "the items")
    },
    Case("work without any item freezes none") { s in
      let (_, launch) = try await s.running()
      let page = ItemPage(launch: launch, start: 0, items: [], isLast: true)
      try expect(try await s.append(page), .committed(count: 0, isFrozen: true), "the answer")
      try expect(try await s.record(launch.request).frozenItems, 0, "how many are frozen")
    },
    Case("output has the time at which it came, a line that of its first part") { s in
      let (_, launch) = try await s.running()
      func say(_ text: String, after seconds: Int) async throws {
        let takenAt = s.now.date + .seconds(seconds)
        try await s.append([OutputChunk(launch: launch, bytes: Array(text.utf8), takenAt: takenAt)])
      }
      try await say("one\n", after: 0)
      try await say("two\nthr", after: 10)
      try await say("ee\n", after: 20)
      try await s.append([OutputChunk(launch: launch, bytes: Array("four\n".utf8))])
      let pieces = try await s.store.outputPieces(of: launch)
      let date = s.now.date
      let lines = pieces.map { String(decoding: $0.bytes, as: UTF8.self) }
      try expect(lines, ["one\n", "two\nthree\nfour\n"], "the pieces")
      try expect(pieces.map(\.takenAt), [date, date + .seconds(10)], "their times")
    },
    Case("output is kept per launch, in order, the last 64 KiB of it") { s in
      let (definition, first) = try await s.running()
      try await s.append([
        OutputChunk(launch: first, bytes: [1]), OutputChunk(launch: first, bytes: [2, 3]),
      ])
      try expect(try await s.store.output(of: first), [1, 2, 3], "a short output")
      try await s.end(first, .expired(.evicted))
      let second = try await s.start(definition)
      for index in 0..<40 {
        try await s.append([
          OutputChunk(launch: second, bytes: Array(repeating: UInt8(index), count: 3000))
        ])
      }
      let all = (0..<40).flatMap { Array(repeating: UInt8($0), count: 3000) }
      try expect(try await s.store.output(of: second) == Array(all.suffix(65_536)), "a long output is not its end")
      let huge = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
      try await s.append([OutputChunk(launch: second, bytes: huge)])
      try expect(try await s.store.output(of: second) == Array(huge.suffix(65_536)), "a huge chunk is not its end")
      try expect(try await s.store.output(of: first), [1, 2, 3], "the other launch's output")
      try await s.append([OutputChunk(launch: LaunchKey(request: RequestID(99), number: 1), bytes: [1])])
    },
  ]
}
