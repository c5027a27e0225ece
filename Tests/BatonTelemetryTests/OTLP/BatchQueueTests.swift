import BatonModel
import BatonTelemetry
import Testing

/// Events go in, effects come out: no clock, no network.
@Suite struct BatchQueueTests {
  static let limits = BatchLimits(queue: 6, batch: 2, delay: .seconds(5))
  var queue = BatchQueue(limits: limits)

  static func spans(_ numbers: ClosedRange<UInt64>) -> [SpanRecord] { numbers.map { Fixture.span($0) } }

  @discardableResult
  private mutating func add(_ numbers: ClosedRange<UInt64>, at seconds: Double = 0) -> [BatchQueue.Effect] {
    numbers.flatMap { queue.add(Fixture.span($0), at: Fixture.instant(seconds)) }
  }

  private mutating func tick(_ seconds: Double) -> [BatchQueue.Effect] { queue.tick(at: Fixture.instant(seconds)) }

  private mutating func answer(
    _ verdict: ExportVerdict, draw: Double = 1, at seconds: Double = 0
  ) -> [BatchQueue.Effect] {
    queue.exported(verdict, draw: draw, at: Fixture.instant(seconds))
  }

  @Test func `the defaults are the specification's`() {
    #expect(BatchLimits() == BatchLimits(queue: 2048, batch: 512, delay: .seconds(5)))
    #expect(BatchLimits(queue: 0, batch: 9, delay: .seconds(-1)) == BatchLimits(queue: 1, batch: 1, delay: .zero))
    var queue = BatchQueue()
    for number in 1...511 { #expect(queue.add(Fixture.span(UInt64(number)), at: Fixture.instant(0)) == []) }
    #expect(queue.add(Fixture.span(512), at: Fixture.instant(0)) == [.export(Self.spans(1...512))])
    for number in 513...2048 { #expect(queue.add(Fixture.span(UInt64(number)), at: Fixture.instant(0)) == []) }
    #expect(queue.drops == [:])
    #expect(queue.add(Fixture.span(2049), at: Fixture.instant(0)) == [])
    #expect(queue.drops == [.full: 1])
  }

  @Test mutating func `a full batch goes at once`() {
    #expect(add(1...1) == [])
    #expect(add(2...2) == [.export(Self.spans(1...2))])
    #expect(answer(.delivered) == [])
    #expect(queue.delivered == 2)
    #expect(queue.count == 0)
    #expect(queue.nextTick == nil)
  }

  @Test mutating func `a small batch goes when its first span has waited long enough`() {
    add(1...1, at: 1)
    #expect(queue.nextTick == Fixture.instant(6))
    #expect(tick(5.999) == [])
    #expect(tick(6) == [.export(Self.spans(1...1))])
    #expect(queue.nextTick == nil)
    #expect(tick(60) == [], "nothing is sent beside it")
  }

  @Test func `the first span of a batch counts, not the last`() {
    var queue = BatchQueue()
    for number in 1...4 { _ = queue.add(Fixture.span(UInt64(number)), at: Fixture.instant(Double(number))) }
    #expect(queue.nextTick == Fixture.instant(6))
    #expect(queue.tick(at: Fixture.instant(6)) == [.export(Self.spans(1...4))])
  }

  @Test mutating func `exports never overlap, and keep the order`() {
    #expect(add(1...5) == [.export(Self.spans(1...2))])
    #expect(tick(100) == [])
    #expect(queue.flush(1, at: Fixture.instant(100)) == [])
    #expect(answer(.delivered, at: 100) == [.export(Self.spans(3...4))])
    #expect(answer(.delivered, at: 100) == [.export(Self.spans(5...5))])
    #expect(answer(.delivered, at: 100) == [.flushed(1)])
  }

  @Test mutating func `what is too large for the backend goes in halves, before what came later`() {
    queue = BatchQueue(limits: BatchLimits(queue: 9, batch: 4, delay: .seconds(5)))
    let no = ExportVerdict.tooLarge(reason: "HTTP 413")
    #expect(add(1...6) == [.export(Self.spans(1...4))])
    #expect(answer(no) == [.export(Self.spans(1...2))])
    #expect(answer(no) == [.export(Self.spans(1...1))])
    #expect(answer(no) == [.export(Self.spans(2...2))], "one that is too large alone is dropped")
    #expect(queue.drops == [.rejected: 1])
    #expect(answer(.delivered) == [.export(Self.spans(3...4))], "a little more after each that was taken")
    #expect(answer(.delivered) == [])
    #expect(tick(5) == [.export(Self.spans(5...6))])
    #expect(answer(.delivered, at: 5) == [])
    #expect((queue.delivered, queue.count) == (5, 0))
  }

  @Test mutating func `what came during an export waits from its end, if it is not a full batch`() {
    add(1...3)
    #expect(answer(.delivered, at: 1) == [])
    #expect(queue.nextTick == Fixture.instant(5))
    #expect(tick(5) == [.export(Self.spans(3...3))])
  }

  @Test mutating func `what does not fit is dropped and counted, also while a batch is on its way`() {
    add(1...9)
    #expect(queue.count == 6)
    #expect(queue.drops == [.full: 3])
    #expect(answer(.delivered) == [.export(Self.spans(3...4))])
    #expect(add(10...11) == [])
    #expect(queue.drops == [.full: 3])
    add(12...12)
    #expect(queue.drops == [.full: 4])
  }

  @Test mutating func `a flush sends a small batch at once and says when it is there`() {
    add(1...1)
    #expect(queue.flush(7, at: Fixture.instant(0)) == [.export(Self.spans(1...1))])
    #expect(queue.flush(8, at: Fixture.instant(0)) == [])
    #expect(add(2...2) == [])
    #expect(answer(.delivered) == [.flushed(7), .flushed(8)])
    #expect(queue.count == 1, "what came after the flush is not part of it")
    #expect(queue.flush(9, at: Fixture.instant(0)) == [.export(Self.spans(2...2))])
  }

  @Test mutating func `a flush of nothing is done`() {
    #expect(queue.flush(1, at: Fixture.instant(0)) == [.flushed(1)])
  }

  @Test mutating func `a backend that is away gets the same batch again, after a backoff`() {
    add(1...3)
    #expect(answer(.unreachable, draw: 0, at: 10) == [])
    #expect(queue.nextTick == Fixture.instant(10.5))
    #expect(tick(10.4) == [])
    #expect(queue.flush(1, at: Fixture.instant(10.4)) == [], "a flush does not hurry a backend that is away")
    #expect(tick(10.5) == [.export(Self.spans(1...2))])
    #expect(answer(.retry(after: .seconds(19)), draw: 0, at: 11) == [])
    #expect(queue.nextTick == Fixture.instant(30))
    #expect(tick(30) == [.export(Self.spans(1...2))])
    #expect(answer(.delivered, at: 30) == [.export(Self.spans(3...3))])
    #expect(answer(.delivered, at: 30) == [.flushed(1)])
    #expect(queue.delivered == 3)
  }

  @Test func `after eight attempts a batch is dropped, and the queue backs off before the next one`() {
    var queue = BatchQueue(limits: Self.limits, timeout: .seconds(600))
    var now = 0.0
    for span in Self.spans(1...4) { _ = queue.add(span, at: Fixture.instant(now)) }
    for attempt in 1..<8 {
      #expect(queue.exported(.unreachable, draw: 1, at: Fixture.instant(now)) == [])
      now += Double(min(1 << (attempt - 1), 30))
      #expect(queue.nextTick == Fixture.instant(now))
      #expect(queue.tick(at: Fixture.instant(now)) == [.export(Self.spans(1...2))])
    }
    #expect(queue.exported(.unreachable, draw: 1, at: Fixture.instant(now)) == [])
    #expect(queue.drops == [.unreachable: 2])
    #expect(queue.dropped == 2)
    #expect(queue.nextTick == Fixture.instant(now + 30))
    #expect(queue.tick(at: Fixture.instant(now + 29)) == [])
    #expect(queue.tick(at: Fixture.instant(now + 30)) == [.export(Self.spans(3...4))])
    #expect(queue.exported(.unreachable, draw: 1, at: Fixture.instant(now + 30)) == [])
    #expect(queue.nextTick == Fixture.instant(now + 31), "attempts are counted anew")
  }

  @Test mutating func `no attempt begins after the export timeout, and a longer wait that was asked for is kept`() {
    add(1...3)
    #expect(answer(.unreachable, at: 20) == [])
    #expect(tick(21) == [.export(Self.spans(1...2))])
    #expect(queue.flush(1, at: Fixture.instant(21)) == [])
    #expect(answer(.retry(after: .seconds(90)), at: 22) == [])
    #expect(queue.drops == [.unreachable: 2])
    #expect(queue.nextTick == Fixture.instant(112), "though a flush waits")
    #expect(tick(111) == [])
    #expect(tick(112) == [.export(Self.spans(3...3))])
    #expect(answer(.delivered, at: 112) == [.flushed(1)])
    add(4...4, at: 113)
    #expect(queue.nextTick == Fixture.instant(118), "peace ends with the first answer")
  }

  @Test mutating func `a shutdown makes one attempt even while the queue backs off`() {
    add(1...3)
    #expect(answer(.retry(after: .seconds(90)), at: 0) == [])
    #expect(queue.drops == [.unreachable: 2])
    #expect(queue.shutDown(at: Fixture.instant(1)) == [.export(Self.spans(3...3))])
  }

  @Test(
    arguments: [
      (.delivered, 2, 0), (.rejected(reason: "no"), 0, 2), (.partial(rejected: 1, message: ""), 1, 1),
      (.partial(rejected: 0, message: "old"), 2, 0), (.partial(rejected: 9, message: ""), 0, 2),
      (.partial(rejected: -1, message: ""), 2, 0), (.partial(rejected: .max, message: ""), 0, 2),
    ] as [(ExportVerdict, Int, Int)])
  func `what was sent is never sent again`(verdict: ExportVerdict, delivered: Int, rejected: Int) {
    var queue = BatchQueue(limits: Self.limits)
    _ = queue.add(Fixture.span(1), at: Fixture.instant(0))
    _ = queue.add(Fixture.span(2), at: Fixture.instant(0))
    #expect(queue.flush(1, at: Fixture.instant(0)) == [])
    #expect(queue.exported(verdict, draw: 0, at: Fixture.instant(0)) == [.flushed(1)])
    #expect(queue.delivered == delivered)
    #expect(queue.drops == (rejected == 0 ? [:] : [.rejected: rejected]))
    #expect(queue.count == 0)
  }

  @Test mutating func `a shutdown sends what waits, then ends`() {
    add(1...3)
    #expect(queue.shutDown(at: Fixture.instant(0)) == [])
    #expect(queue.shutDown(at: Fixture.instant(0)) == [])
    #expect(add(4...4) == [])
    #expect(queue.drops == [.shutDown: 1])
    #expect(answer(.delivered) == [.export(Self.spans(3...3))])
    #expect(answer(.delivered) == [.ended])
    #expect(tick(100) == [])
    #expect(queue.flush(1, at: Fixture.instant(100)) == [.flushed(1)])
    #expect(queue.nextTick == nil)
  }

  @Test mutating func `a shutdown with nothing left ends at once`() {
    #expect(queue.shutDown(at: Fixture.instant(0)) == [.ended])
  }

  @Test mutating func `a shutdown asks a backend that is away once more, and drops the rest`() {
    add(1...5)
    #expect(answer(.retry(after: .seconds(20))) == [])
    #expect(queue.flush(1, at: Fixture.instant(0)) == [])
    #expect(queue.shutDown(at: Fixture.instant(1)) == [.export(Self.spans(1...2))])
    #expect(answer(.unreachable, at: 1) == [.flushed(1), .ended])
    #expect(queue.drops == [.shutDown: 5])
    #expect(queue.count == 0)
  }

  /// For any order of events, every span is delivered, dropped or still queued, exactly once.
  @Test(arguments: 1...40 as ClosedRange<UInt64>) func `no span is lost or sent beside another`(seed: UInt64) {
    var state = seed
    func draw(_ bound: UInt64) -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) % bound
    }
    var (queue, now, added, isOut, isEnded) = (BatchQueue(limits: Self.limits), 0.0, 0, false, false)
    var (asked, flushed): ([Int], [Int]) = ([], [])
    // The numbers of the spans that were accepted, in order, and of those that were sent at least once.
    var (taken, sent): ([UInt64], [UInt64]) = ([], [])
    for step in 0..<400 {
      now += Double(draw(30)) / 10
      let at = Fixture.instant(now)
      var effects: [BatchQueue.Effect] = []
      switch draw(step > 350 ? 12 : 11) {
      case 0...4:
        added += 1
        let refused = queue.dropped
        effects = queue.add(Fixture.span(UInt64(added)), at: at)
        if queue.dropped == refused { taken.append(UInt64(added)) }
      case 5, 6: effects = queue.tick(at: at)
      case 7:
        asked.append(step)
        effects = queue.flush(step, at: at)
      case 8...10 where isOut:
        isOut = false
        let verdicts: [ExportVerdict] = [
          .delivered, .unreachable, .partial(rejected: 1, message: ""), .rejected(reason: ""),
          .retry(after: .seconds(9)),
        ]
        effects = queue.exported(verdicts[Int(draw(5))], draw: 0.5, at: at)
      case 11: effects = queue.shutDown(at: at)
      default: break
      }
      for effect in effects {
        switch effect {
        case .export(let batch):
          #expect(!isOut && !isEnded && (1...2).contains(batch.count))
          isOut = true
          let numbers = batch.map(\.id.number)
          if numbers != sent.suffix(numbers.count) { sent += numbers }
        case .flushed(let id): flushed.append(id)
        case .ended:
          #expect(!isEnded && queue.count == 0)
          isEnded = true
        }
      }
      #expect(queue.count <= 6)
      #expect(sent == Array(taken.prefix(sent.count)), "each in its turn, and none left out")
      #expect(added == queue.delivered + queue.drops.values.reduce(0, +) + queue.count)
    }
    #expect(flushed == Array(asked.prefix(flushed.count)), "flushes end in the order in which they were asked for")
  }
}
