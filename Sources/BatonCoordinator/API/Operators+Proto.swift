import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension SubmissionOrder {
  init(_ proto: Baton_V1_SubmitRequest.Item) throws {
    guard !proto.id.isEmpty, proto.id.utf8.count <= WireLimits.submissionID.most else {
      throw WireError("a submission needs an id of 1 to \(WireLimits.submissionID.most) bytes, drawn by the client")
    }
    try WireLimits.submissionID.check(name: proto.id)
    if proto.hasPayload, proto.payload.count > WireLimits.payload.most {
      throw WireError(
        "the payload has \(proto.payload.count) bytes and the limit is \(WireLimits.payload.most): "
          + "put it in a file and submit its name")
    }
    var earliest: EarliestBeginDate?
    if proto.hasEarliestAfter { earliest = .afterSubmission(.nanoseconds(proto.earliestAfter)) }
    if proto.hasEarliestAt {
      let date = Timestamp(nanoseconds: proto.earliestAt)
      guard Definition.Limits.contains(date) else {
        throw WireError("the earliest date of a submission is not between 1970 and 2260")
      }
      earliest = .at(date)
    }
    if proto.hasPriority, Priority(name: proto.priority) == nil {
      throw WireError("'\(proto.priority)' is not a priority: background, utility or userInitiated")
    }
    self.init(
      id: proto.id, identifier: try JobIdentifier(wire: proto.identifier),
      payload: proto.hasPayload ? Array(proto.payload) : nil, earliestBeginDate: earliest,
      priority: proto.hasPriority ? Priority(name: proto.priority) : nil, poke: try Self.poke(proto))
  }

  private static func poke(_ proto: Baton_V1_SubmitRequest.Item) throws -> PokePriority? {
    guard proto.hasPoke else { return nil }
    guard let priority = PokePriority(rawValue: Int(proto.poke)) else {
      throw WireError("a poke has priority 5 or 10, not \(proto.poke)")
    }
    return priority
  }

  var proto: Baton_V1_SubmitRequest.Item {
    .with {
      $0.id = id
      $0.identifier = identifier.rawValue
      if let payload { $0.payload = Data(payload) }
      switch earliestBeginDate {
      case .afterSubmission(let delay): $0.earliestAfter = delay.nanoseconds
      case .at(let date): $0.earliestAt = date.nanoseconds
      case nil: break
      }
      if let priority { $0.priority = priority.name }
      if let poke { $0.poke = Int32(poke.rawValue) }
    }
  }
}

extension SubmissionReceipt {
  func proto(traceID: String, warning: String?) -> Baton_V1_SubmitReply.Accepted {
    .with {
      $0.request = request.rawValue
      $0.identifier = identifier.rawValue
      $0.number = Int64(number)
      $0.state = state.rawValue
      $0.eligibleAt = eligibleAt.nanoseconds
      $0.replaced = replaced
      $0.traceID = traceID
      if let warning { $0.warning = warning }
      if let flow { $0.flow = flow.rawValue }
    }
  }

  init(_ proto: Baton_V1_SubmitReply.Accepted) throws {
    guard let state = RequestState(rawValue: proto.state) else { throw WireError("unknown state '\(proto.state)'") }
    self.init(
      request: RequestID(proto.request), identifier: try JobIdentifier(wire: proto.identifier),
      number: Int(proto.number), state: state, eligibleAt: Timestamp(nanoseconds: proto.eligibleAt),
      replaced: proto.replaced)
    flow = proto.hasFlow ? RequestID(proto.flow) : nil
  }
}

extension SubmissionResult {
  var proto: Baton_V1_SubmitReply.Answer {
    .with {
      switch self {
      case .accepted(let receipt, let traceID, let warning):
        $0.accepted = receipt.proto(traceID: traceID, warning: warning)
      case .refused(let code, let message):
        $0.refused = .with {
          $0.code = code
          $0.message = message
        }
      }
    }
  }

  init(_ proto: Baton_V1_SubmitReply.Answer) throws {
    if proto.hasAccepted {
      self = .accepted(
        try SubmissionReceipt(proto.accepted), traceID: proto.accepted.traceID,
        warning: proto.accepted.hasWarning ? proto.accepted.warning : nil)
    } else {
      self = .refused(code: proto.refused.code, message: proto.refused.message)
    }
  }
}

extension AppliedDefinition {
  var proto: Baton_V1_ApplyReply.Applied {
    .with {
      $0.id = id.rawValue
      $0.pattern = pattern.rawValue
      $0.change = change.rawValue
      if let submitted { $0.submitted = submitted.proto(traceID: submitted.traceID?.description ?? "", warning: nil) }
    }
  }

  init(_ proto: Baton_V1_ApplyReply.Applied) throws {
    guard let change = Change(rawValue: proto.change) else { throw WireError("unknown change '\(proto.change)'") }
    self.init(
      id: DefinitionID(proto.id), pattern: try IdentifierPattern(wire: proto.pattern), change: change,
      submitted: proto.hasSubmitted ? try SubmissionReceipt(proto.submitted) : nil)
  }
}

extension Cancellation {
  var proto: Baton_V1_CancelReply.Cancelled {
    .with {
      switch self {
      case .ended(let request, let identifier, let number):
        ($0.request, $0.identifier, $0.number) = (request.rawValue, identifier.rawValue, Int64(number))
      case .stopping(let launch, let identifier, let number, let host):
        ($0.request, $0.launch) = (launch.request.rawValue, Int32(launch.number))
        ($0.identifier, $0.number) = (identifier.rawValue, Int64(number))
        $0.stoppingOn = host.rawValue
      }
    }
  }

  init(_ proto: Baton_V1_CancelReply.Cancelled) throws {
    let (request, identifier) = (RequestID(proto.request), try JobIdentifier(wire: proto.identifier))
    self =
      proto.hasStoppingOn
      ? .stopping(
        LaunchKey(request: request, number: Int(proto.launch)), identifier, number: Int(proto.number),
        host: HostName(proto.stoppingOn)) : .ended(request, identifier, number: Int(proto.number))
  }
}

extension HostReport {
  var proto: Baton_V1_HostsReply.Host {
    .with {
      $0.name = name.rawValue
      $0.state = state.rawValue
      $0.version = version
      $0.slots = Int32(capabilities.slots)
      $0.usedSlots = Int32(usedSlots)
      $0.running = running.map(\.rawValue)
      $0.conditions = conditions.proto
      if let lastSeenAt { $0.lastSeenAt = lastSeenAt.nanoseconds }
      $0.capabilities = capabilities.proto
      if let coordinator { $0.coordinator = coordinator }
      if let age { $0.age = age.nanoseconds }
    }
  }

  init(_ proto: Baton_V1_HostsReply.Host) throws {
    guard let state = State(rawValue: proto.state) else { throw WireError("unknown state '\(proto.state)' of a host") }
    self.init(
      name: HostName(proto.name), state: state, version: proto.version,
      capabilities: try Capabilities(proto.capabilities), conditions: Conditions(proto.conditions),
      usedSlots: Int(proto.usedSlots), running: try proto.running.map { try JobIdentifier(wire: $0) },
      lastSeenAt: proto.hasLastSeenAt ? Timestamp(nanoseconds: proto.lastSeenAt) : nil,
      coordinator: proto.hasCoordinator ? proto.coordinator : nil,
      age: proto.hasAge ? .nanoseconds(proto.age) : nil)
  }
}

extension CoordinatorReport {
  var proto: Baton_V1_CoordinatorsReply.Coordinator {
    .with {
      $0.number = number
      ($0.name, $0.version, $0.workers) = (place.name, place.version, place.workers)
      if let operators = place.operators { $0.operators = operators }
      if let https = place.https { $0.https = https }
      $0.hosts = Int32(clamping: hosts)
      ($0.isSteward, $0.answers, $0.isEnded) = (isSteward, answers, isEnded)
      if let beatAge { $0.beatAge = beatAge.nanoseconds }
      if let endedFor { $0.endedFor = endedFor.nanoseconds }
      if let namespaces { $0.namespaces = namespaces }
    }
  }

  init(_ proto: Baton_V1_CoordinatorsReply.Coordinator) {
    let place = CoordinatorPlace(
      name: proto.name, version: proto.version, workers: proto.workers,
      operators: proto.hasOperators ? proto.operators : nil, https: proto.hasHTTPS ? proto.https : nil)
    self.init(
      number: proto.number, place: place, hosts: Int(proto.hosts), isSteward: proto.isSteward, answers: proto.answers,
      beatAge: proto.hasBeatAge ? .nanoseconds(proto.beatAge) : nil, isEnded: proto.isEnded,
      endedFor: proto.hasEndedFor ? .nanoseconds(proto.endedFor) : nil,
      namespaces: proto.hasNamespaces ? proto.namespaces : nil)
  }
}

extension Explanation.Line {
  fileprivate var proto: Baton_V1_Obstacle {
    .with {
      if let host { $0.host = host.rawValue }
      $0.code = code
      $0.text = text
      $0.remedy = remedy
      $0.isPermanent = isPermanent
      if let source { $0.source = source }
      if let raw { $0.raw = raw }
      if let reportedAt { $0.reportedAt = reportedAt.nanoseconds }
      if let age { $0.age = age.nanoseconds }
      if let clearsAt { $0.clearsAt = clearsAt.nanoseconds }
    }
  }
}

extension Explanation {
  /// The reply without the obstacles.
  private var head: Baton_V1_ExplainReply {
    .with {
      $0.request = record.proto
      $0.verdict = verdict.rawValue
      if let position { $0.position = Int64(position) }
      $0.advice = advice
      if let reservation {
        $0.reservedHost = reservation.host.rawValue
        $0.reservedUntil = reservation.expectedAt.nanoseconds
      }
      guard let order else { return }
      if let lastUsedAt = order.lastUsedAt { $0.lastUsedAt = lastUsedAt.nanoseconds }
      $0.hasRecentUse_p = order.hasRecentUse
      $0.classesAhead = Int64(order.classesAhead)
      if let priority = order.agedPriority { $0.countsAs = priority.name }
      if let namespace = order.namespace { $0.namespace = namespace.proto }
    }
  }

  /// The pages of the reply, at least one page.
  var pages: [Baton_V1_ExplainReply] {
    get throws {
      var (pages, rest): ([Baton_V1_ExplainReply], ExplanationCut) = ([], cut)
      while let page = try rest.next() { pages.append(page) }
      return pages
    }
  }

  /// The pages of the reply, each of which is made when it is asked for.
  var cut: ExplanationCut { ExplanationCut(head, lines) }

  /// The reply for clients that do not know pages: as many obstacles as fit into one message, and a last obstacle that
  /// says how many are missing.
  var fittingIntoOneMessage: Baton_V1_ExplainReply {
    get throws {
      var (reply, bytes) = (head, 0)
      for page in try Pages.of(lines.lazy.map(\.proto), size: { $0.mostBytes }) {
        bytes += page.bytes
        guard bytes <= Pages<Baton_V1_Obstacle>.largestMessage else { break }
        reply.obstacles += page.elements
      }
      let missing = lines.count - reply.obstacles.count
      if missing > 0 { reply.obstacles.append(Self.cut(missing)) }
      return reply
    }
  }

  private static func cut(_ missing: Int) -> Baton_V1_Obstacle {
    .with {
      $0.code = "answerTooLarge"
      $0.text = "\(missing) more obstacles do not fit into one answer"
      $0.remedy = "use a client that asks for them in pages, such as this version's 'baton'"
    }
  }

  /// - Parameter pages: the pages of the reply, in their order.
  init(pages: [Baton_V1_ExplainReply]) throws {
    guard var whole = pages.first else { throw WireError("an explanation without a page") }
    whole.obstacles = pages.flatMap(\.obstacles)
    try self.init(whole)
  }

  init(_ proto: Baton_V1_ExplainReply) throws {
    guard let verdict = Verdict(rawValue: proto.verdict) else { throw WireError("unknown verdict '\(proto.verdict)'") }
    self.init(
      record: try RequestRecord(proto.request), verdict: verdict,
      lines: proto.obstacles.map {
        Line(
          host: $0.hasHost ? HostName($0.host) : nil, code: $0.code, text: $0.text, remedy: $0.remedy,
          isPermanent: $0.isPermanent, source: $0.hasSource ? $0.source : nil, raw: $0.hasRaw ? $0.raw : nil,
          age: $0.hasAge ? .nanoseconds($0.age) : nil,
          reportedAt: $0.hasReportedAt ? Timestamp(nanoseconds: $0.reportedAt) : nil,
          clearsAt: $0.hasClearsAt ? Timestamp(nanoseconds: $0.clearsAt) : nil)
      }, position: proto.hasPosition ? Int(proto.position) : nil, advice: proto.advice,
      order: proto.hasHasRecentUse_p
        ? Order(
          lastUsedAt: proto.hasLastUsedAt ? Timestamp(nanoseconds: proto.lastUsedAt) : nil,
          hasRecentUse: proto.hasRecentUse_p, classesAhead: Int(proto.classesAhead),
          agedPriority: proto.hasCountsAs ? Priority(name: proto.countsAs) : nil,
          namespace: proto.hasNamespace ? NamespaceStanding(proto.namespace) : nil) : nil,
      reservation: proto.hasReservedHost
        ? Reservation(
          host: HostName(proto.reservedHost), expectedAt: Timestamp(nanoseconds: proto.reservedUntil)) : nil)
  }
}

/// Cuts an explanation into pages. The first page has everything except the obstacles that do not fit into it. In a
/// large fleet it is on its way while the others are made.
struct ExplanationCut {
  private var head: Baton_V1_ExplainReply?
  private var obstacles: PageCut<LazyMapSequence<[Explanation.Line], Baton_V1_Obstacle>>

  fileprivate init(_ head: Baton_V1_ExplainReply, _ lines: [Explanation.Line]) {
    self.head = head
    obstacles = PageCut(lines.lazy.map(\.proto), size: \.mostBytes)
  }

  /// The next page; nil after the last one.
  mutating func next() throws -> Baton_V1_ExplainReply? {
    let page = try obstacles.next()
    guard var reply = head ?? page.map({ _ in Baton_V1_ExplainReply() }) else { return nil }
    head = nil
    reply.obstacles = page?.elements ?? []
    return reply
  }
}

extension Baton_V1_Obstacle {
  /// No fewer bytes than it has encoded, without encoding it.
  fileprivate var mostBytes: Int {
    let texts = host.utf8.count + code.utf8.count + text.utf8.count + remedy.utf8.count + source.utf8.count
    // Ten fields, each with a tag and a length or a number.
    return texts + raw.utf8.count + 10 * 12
  }
}

extension SimulatedLaunch {
  var proto: Baton_V1_SimulatedLaunch {
    .with {
      $0.identifier = identifier.rawValue
      $0.number = Int64(number)
      $0.launch = Int32(launch)
      $0.host = host.rawValue
    }
  }

  init(_ proto: Baton_V1_SimulatedLaunch) throws {
    self.init(
      identifier: try JobIdentifier(wire: proto.identifier), number: Int(proto.number), launch: Int(proto.launch),
      host: HostName(proto.host))
  }
}
