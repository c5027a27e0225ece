import BatonModel

/// What happened in a simulation, line by line. It keeps nothing, or a hash of the lines, or it prints the lines as
/// well.
struct Trace {
  enum Mode: Hashable, Sendable { case off, hash, print }

  let mode: Mode
  /// FNV-1a with 64 bits (Fowler, Noll, Vo).
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325

  init(_ mode: Mode) { self.mode = mode }

  mutating func add(_ line: String) {
    for byte in line.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    if mode == .print { print(line) }
  }
}

/// Lines of a trace. They contain no set and no dictionary, because the order of both differs between processes.
extension WorkerMessage {
  var line: String {
    switch self {
    case .hello(let hello): "hello \(hello.incarnation) with \(hello.running.map { "\($0.launch)" })"
    case .heartbeat(let number): "heartbeat \(number)"
    case .conditions(let conditions):
      "conditions \(conditions.power.value?.rawValue ?? "") \(conditions.network.value?.rawValue ?? "") "
        + "\(conditions.isIdle.value.map { "\($0)" } ?? "") \(conditions.gpus.value?.count(where: \.isPresent) ?? 0) GPUs"
    case .items(let page): "items \(page.launch) from \(page.start), \(page.items.count), last \(page.isLast)"
    case .itemsWanted(let launch, let start, let count): "itemsWanted \(launch) \(start) \(count)"
    case .checkpoint(let point): "checkpoint \(point.launch) batch \(point.batch)\(point.reachesEnd ? ", the end" : "")"
    case .update(let update): "update \(update.launch)"
    case .output(let chunk): "output \(chunk.launch)"
    case .expiring(let launch, let reason): "expiring \(launch) \(reason.code)"
    case .overran(let launch, let reason): "overran \(launch) \(reason.code)"
    case .ended(let ending): "ended \(ending.launch) \(ending.outcome.text)"
    case .draining: "draining"
    case .submission(let launch, let submission): "submission \(submission.name) of \(launch)"
    case .transfers(let report): "transfers \(report.statuses.map(\.key)), released \(report.released)"
    }
  }
}

extension CoordinatorMessage {
  var line: String {
    switch self {
    case .welcome: "welcome"
    case .refused(let text, _): "refused: \(text)"
    case .heartbeatAnswered(let number): "heartbeatAnswered \(number)"
    case .definition(let id, let definition): "definition \(id.rawValue) \(definition.pattern)"
    case .unusableDefinition(let id, let problem): "definition \(id.rawValue) \(problem)"
    case .launch(let assignment):
      "launch \(assignment.launch) \(assignment.identifier) at batch \(assignment.progress.batches) on GPUs \(assignment.gpus)"
    case .items(let page): "items \(page.launch) from \(page.start), \(page.items.count)"
    case .itemsCommitted(let launch, let count, let isFrozen, _): "itemsCommitted \(launch) \(count) frozen \(isFrozen)"
    case .committed(let launch, let batch, let end):
      "committed \(launch) batch \(batch)" + (end.map { ", its shard ends at \($0)" } ?? "")
    case .expire(let launch, let reason): "expire \(launch) \(reason.code)"
    case .withdraw(let launch, let text): "withdraw \(launch): \(text)"
    case .refuse(let launch, let text): "refuse \(launch): \(text)"
    case .simulate: "simulate"
    case .receipt: "receipt"
    case .endingCommitted(let launch): "endingCommitted \(launch)"
    case .submitted(let launch, let name, _): "submitted \(name) of \(launch)"
    case .transfers(let orders): "\(orders.count) orders for transfers"
    }
  }
}

extension LaunchOutcome {
  var text: String {
    switch self {
    case .expired(let reason): "expired \(reason.code)"
    case .finished, .failed, .lost: code
    }
  }
}
