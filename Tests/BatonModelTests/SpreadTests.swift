import Testing

@testable import BatonModel

@Suite("How the units of a request are cut into shards, and shards are split")
struct SpreadTests {
  @Test(
    "A list is cut into about four shards for each lane, at batch boundaries",
    arguments: [
      // total, lanes, batch, wanted, size
      (16_000, 4, 1, nil, 1_000), (16_000, 4, 7, nil, 1_001), (10, 4, 1, nil, 1), (10, 4, 4, nil, 4),
      (0, 4, 5, nil, 5), (100, 4, 1, 10, 10), (100, 4, 3, 10, 12),
      // A lane without work is worse than a short shard.
      (100, 4, 1, 1_000, 25), (100, 1, 1, 1_000, 100),
      // A request has no more shards than its limit.
      (65_536_000, 2, 1, 1, 1_000),
    ] as [(Int64, Int, Int, Int?, Int64)])
  func size(total: Int64, lanes: Int, batch: Int, wanted: Int?, size: Int64) {
    #expect(Spread(lanes: lanes, shardSize: wanted).size(of: total, batchSize: batch) == size)
  }

  @Test("Work without items has shards of one unit each")
  func sizeOfShards() { #expect(Spread(lanes: 4, shards: 8).size(of: 8, batchSize: 50) == 1) }

  @Test(
    "A split leaves the launch the batch that may be running, and half of the others",
    arguments: [
      // units, completed, batch, point
      (0..<10, 0, 1, 5), (0..<10, 3, 1, 7), (100..<110, 3, 1, 107), (0..<10, 8, 1, 9), (0..<10, 9, 1, nil),
      (0..<10, 10, 1, nil), (0..<20, 0, 5, 10), (0..<20, 10, 5, 15), (0..<17, 10, 5, 15), (0..<15, 10, 5, nil),
    ] as [(Range<Int64>, Int64, Int, Int64?)])
  func split(units: Range<Int64>, completed: Int64, batch: Int, point: Int64?) {
    #expect(Split.point(in: units, completed: completed, batchSize: batch) == point)
  }

  @Test("Wherever a shard stands, a split is at a batch boundary beyond the batch that may be running")
  func everySplit() {
    for batch in 1...4 {
      for length in 0...30 {
        for done in stride(from: 0, through: length, by: batch) {
          let units = Int64(7)..<Int64(7 + length)
          guard let point = Split.point(in: units, completed: Int64(done), batchSize: batch) else { continue }
          #expect((point - 7) % Int64(batch) == 0)
          #expect(point >= 7 + Int64(done + batch))
          #expect(point < units.upperBound)
        }
      }
    }
  }
}
