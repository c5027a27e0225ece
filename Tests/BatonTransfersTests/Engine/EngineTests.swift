import BatonBase
import BatonModel
import BatonProcess
import ContractRows
import FalseServer
import Foundation
import Synchronization
import Testing

@testable import BatonTransfers

/// One transfer at a time against a server that does what a test wants: each way in which a transfer may go has its
/// end.
@Suite(.timeLimit(.minutes(5))) struct EngineTests {
  private let place: Workplace
  private let bytes: [UInt8]

  init() throws {
    place = try Workplace()
    var random = SplitMix64(seed: 1)
    bytes = .random(50_000, &random)
  }

  /// Runs `body` with a server that gives these answers one after the other, the last one again and again.
  private func serving(
    _ answers: FalseAnswer..., body: (FalseServer, _ requests: () -> [FalseRequest]) async throws -> Void
  ) async throws {
    let requests = Mutex<[FalseRequest]>([])
    let server = try await FalseServer { request in
      let number = requests.withLock { requests in
        requests.append(request)
        return requests.count
      }
      return answers[min(number, answers.count) - 1]
    }
    do {
      try await body(server) { requests.withLock { $0 } }
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  private func whole(cutAfter count: Int? = nil, _ turn: FalseAnswer.Turn = .close) -> FalseAnswer {
    var answer = FalseFile(bytes).answer(to: FalseRequest(method: "GET", path: "/f"))
    if let count { answer.turn = (count, turn) }
    return answer
  }

  private func empty(_ status: Int, _ fields: (name: String, value: String)...) -> FalseAnswer {
    FalseAnswer(status, fields + [("Content-Length", "0")])
  }

  private func get(_ server: FalseServer, _ path: String = "/f", to: String = "f") -> Transfer {
    Transfer(url: server.origin + path, to: to)
  }

  // MARK: Downloads

  @Test(.contract(37.1, 38.1)) func `a file arrives whole, under its name, and its partial file is gone`() async throws
  {
    try await serving(whole()) { server, requests in
      var transfer = get(server, to: "a/b/f")
      (transfer.sha256, transfer.size) = (bytes.sha256, Int64(bytes.count))
      let ends = try await place.end(place.engine(), transfer)
      let path = place.path("transfers/files/7/a/b/f")
      #expect(ends == [.done(TransferredFile(path: path, bytes: 50_000, sha256: bytes.sha256))])
      #expect(place.contents(ofTarget: "a/b/f") == bytes)
      #expect(place.names(in: "transfers/parts") == [])
      #expect(requests().map(\.rangeStart) == [nil])
      #expect(requests()[0].fields["accept-encoding"] == "identity")
    }
  }

  @Test func `an empty file arrives`() async throws {
    try await serving(empty(200)) { server, _ in
      let ends = try await place.end(place.engine(), get(server))
      #expect(ends.first?.file?.bytes == 0)
      #expect(place.contents(ofTarget: "f") == [])
    }
  }

  @Test(.contract(37.1), arguments: [0, 1, 4095, 4096, 30_000, 49_999])
  func `a download goes on where the connection broke`(
    count: Int
  ) async throws {
    let file = FalseFile(bytes)
    let requests = Mutex<[FalseRequest]>([])
    let hasSent = Signal()
    let server = try await FalseServer { request in
      var answer = file.answer(to: request)
      if requests.withLock({ requests in
        requests.append(request)
        return requests.count == 1
      }) {
        answer.turn = (count, .silence)
        answer.sent = { hasSent.raise() }
      }
      return answer
    }
    // Everything that arrives is synced at once. The connection breaks when the host has what was sent.
    let engine = try place.engine { $0.syncBytes = 1 }
    _ = engine.obey([.carryOut(Samples.assignment(get(server)))])
    async let breaking: Void = {
      await hasSent.wait()
      while engine.statuses(after: nil, atMost: 1)[0].bytes < count { await Task.yield() }
      server.dropConnections()
    }()
    await place.run(engine) { $0.first?.end != nil }
    await breaking
    await server.stop()
    #expect(engine.statuses(after: nil, atMost: 1)[0].end?.file?.sha256 == bytes.sha256)
    #expect(requests.withLock { $0.map(\.rangeStart) } == [nil, count == 0 ? nil : Int64(count)])
    #expect(requests.withLock { $0.last?.fields["if-range"] } == (count == 0 ? nil : "\"v1\""))
  }

  @Test func `the last problem of a transfer is known after a restart`() async throws {
    let engine = try place.engine()
    _ = engine.obey([.carryOut(Samples.assignment(Transfer(url: "http://127.0.0.1:1/f", to: "f")))])
    await place.run(engine) { statuses in
      if case .waiting(.retry, _)? = statuses.first?.state { true } else { false }
    }
    engine.journal.letGo()
    let problem = try place.engine().statuses(after: nil, atMost: 1).first?.lastError
    #expect(problem == "the connection to http://127.0.0.1:1 did not come about: Connection refused")
  }

  @Test func `a body that is shorter than said is no file`() async throws {
    try await serving(whole(cutAfter: 100, .reset), whole(cutAfter: 100), whole()) { server, requests in
      let ends = try await place.end(place.engine(), get(server))
      #expect(ends.first?.file?.sha256 == bytes.sha256)
      #expect(requests().count == 3)
    }
  }

  @Test func `a body that is longer than said ends with what was said`() async throws {
    // HTTP takes the bytes behind the length for the next answer, which was not asked for.
    var answer = whole()
    answer.body += [1, 2, 3]
    try await serving(answer) { server, _ in
      let ends = try await place.end(place.engine(), get(server))
      #expect(ends.first?.file?.sha256 == bytes.sha256)
    }
  }

  @Test func `a file that is longer than its transfer says is refused before it is all there`() async throws {
    var answer = FalseFile(bytes, .chunked).answer(to: FalseRequest(method: "GET", path: "/f"))
    answer.turn = (40_000, .silence)
    try await serving(answer) { server, _ in
      var transfer = get(server)
      transfer.size = 100
      let ends = try await place.end(place.engine(), transfer)
      #expect(ends.first?.code == .wrongSize)
      #expect(place.contents(ofTarget: "f") == nil)
    }
  }

  @Test func `a file with another hash is refused, and does not get its name`() async throws {
    try await serving(whole()) { server, requests in
      var transfer = get(server)
      transfer.sha256 = Samples.hash
      let ends = try await place.end(place.engine(), transfer)
      #expect(ends.first?.code == .wrongHash)
      #expect(place.contents(ofTarget: "f") == nil)
      #expect(place.names(in: "transfers/parts") == [])
      #expect(requests().count == 1)
    }
  }

  @Test func `a file of several pieces with another hash is fetched once more, as a whole`() async throws {
    var wrong = bytes
    wrong[20_000] ^= 1
    let part = FalseFile(wrong).answer(
      to: FalseRequest(method: "GET", path: "/f", fields: ["range": "bytes=10000-", "if-range": "\"v1\""]))
    try await serving(whole(cutAfter: 10_000), part, whole()) { server, requests in
      var transfer = get(server)
      transfer.sha256 = bytes.sha256
      let ends = try await place.end(place.engine(), transfer)
      #expect(ends.first?.file?.sha256 == bytes.sha256)
      #expect(requests().map { $0.rangeStart != nil } == [false, true, false])
    }
  }

  @Test(arguments: FalseFile.Manner.allCases) func `a file arrives whole whatever the server makes of ranges`(
    manner: FalseFile.Manner
  ) async throws {
    let file = FalseFile(bytes, manner)
    let count = Mutex(0)
    let server = try await FalseServer { request in
      var answer = file.answer(to: request)
      count.withLock { count in
        count += 1
        if count <= 2 { answer.turn = (15_000, .close) }
      }
      return answer
    }
    var transfer = get(server)
    transfer.sha256 = bytes.sha256
    let ends = try await place.end(place.engine(), transfer)
    await server.stop()
    #expect(ends.first?.file?.bytes == 50_000, "\(ends)")
    #expect(place.contents(ofTarget: "f") == bytes)
  }

  @Test func `a file that changed on its server is fetched from the beginning`() async throws {
    let file = Mutex(FalseFile(bytes))
    var random = SplitMix64(seed: 2)
    let other = [UInt8].random(40_000, &random)
    let server = try await FalseServer { request in
      file.withLock { file in
        var answer = file.answer(to: request)
        if file.version == 1 { answer.turn = (30_000, .close) }
        (file.bytes, file.version) = (other, 2)
        return answer
      }
    }
    let ends = try await place.end(place.engine(), get(server))
    await server.stop()
    #expect(ends.first?.file?.sha256 == other.sha256)
    #expect(place.contents(ofTarget: "f") == other)
  }

  @Test func `silence on the connection ends the attempt, and the next one goes on`() async throws {
    let silent = Signal()
    var answer = whole(cutAfter: 10_000, .silence)
    answer.sent = { silent.raise() }
    let file = FalseFile(bytes)
    let count = Mutex(0)
    let server = try await FalseServer { [answer] request in
      count.withLock { count in
        count += 1
        return count == 1 ? answer : file.answer(to: request)
      }
    }
    let engine = try place.engine { $0.syncBytes = 1 }
    _ = engine.obey([.carryOut(Samples.assignment(get(server)))])
    let place = place
    async let listening: Void = {
      await silent.wait()
      while engine.statuses(after: nil, atMost: 1)[0].bytes < 10_000 { await Task.yield() }
      // The time moves on although an attempt runs, until the attempt has ended.
      while engine.statuses(after: nil, atMost: 1)[0].lastError == nil {
        place.clock.wakeNext()
        await Task.yield()
      }
    }()
    await place.run(engine) { $0.first?.end != nil }
    await listening
    await server.stop()
    let status = engine.statuses(after: nil, atMost: 1)[0]
    #expect(status.end?.file?.sha256 == bytes.sha256)
    #expect(status.lastError == "nothing arrived for 60 s")
    #expect(status.resumedFrom == 10_000)
  }

  // MARK: Answers

  @Test func `401 ends the transfer`() async throws {
    try await serving(empty(401)) { server, requests in
      let ends = try await place.end(place.engine(), get(server))
      #expect(ends.first?.code == .unauthorized)
      #expect(requests().count == 1)
    }
  }

  @Test(arguments: [429, 503]) func `a busy server is asked again when it wishes`(status: Int) async throws {
    try await serving(empty(status, ("Retry-After", "500")), whole()) { server, requests in
      let engine = try place.engine()
      let ends = await place.end(engine, get(server))
      #expect(ends.first?.file != nil)
      #expect(requests().count == 2)
      #expect(place.clock.time >= .seconds(500))
      let last = engine.statuses(after: nil, atMost: 1)[0]
      #expect(last.attempts == 2 && last.httpStatus == 200 && last.lastError?.contains("\(status)") == true)
    }
  }

  @Test func `a redirect to another server takes no credentials there, and one to the same server does`() async throws {
    try await serving(whole()) { other, atOther in
      try await serving(
        empty(302, ("Location", "/next")), empty(307, ("Location", other.origin + "/f?x=1"))
      ) { server, requests in
        var transfer = get(server)
        transfer.headers = [
          "Authorization": TransferHeader("Bearer ", variable: "TOKEN"), "Accept": TransferHeader("text/plain"),
        ]
        let engine = try place.engine(environment: ["TOKEN": "opensesame"]) { settings in
          settings.variablePermissions = [
            SecretPermission(files: SecretPattern("TOKEN")!, identifiers: [IdentifierPattern("com.example.*")!])
          ]
        }
        let ends = await place.end(engine, transfer)
        #expect(ends.first?.file?.sha256 == bytes.sha256)
        #expect(requests().map(\.path) == ["/f", "/next"])
        #expect(requests().map { $0.fields["authorization"] } == ["Bearer opensesame", "Bearer opensesame"])
        #expect(atOther().map(\.path) == ["/f?x=1"])
        #expect(atOther()[0].fields["authorization"] == nil && atOther()[0].fields["accept"] == "text/plain")
      }
    }
  }

  @Test func `a circle of redirects ends`() async throws {
    try await serving(empty(302, ("Location", "/f"))) { server, requests in
      let ends = try await place.end(place.engine(), get(server))
      #expect(ends.first?.code == .redirect)
      #expect(requests().count == 11)
    }
  }

  // MARK: Connections

  @Test func `a server that is not there is tried again until the time is over`() async throws {
    var origin = ""
    try await serving(whole()) { server, _ in origin = server.origin }
    var transfer = Transfer(url: origin + "/f", to: "f")
    transfer.resourceTimeout = .seconds(3600)
    let engine = try place.engine()
    let ends = await place.end(engine, transfer)
    #expect(ends.first?.code == .timedOut)
    #expect(ends.first?.text?.contains("did not come about") == true)
    #expect((5...20).contains(engine.statuses(after: nil, atMost: 1)[0].attempts))
  }

  @Test func `a name that does not resolve is tried again until the time is over`() async throws {
    var transfer = Transfer(url: "http://no-such-host.invalid/f", to: "f")
    transfer.resourceTimeout = .seconds(10)
    let ends = try await place.end(place.engine(), transfer)
    #expect(ends.first?.code == .timedOut)
    #expect(ends.first?.text?.contains("no-such-host.invalid") == true, "\(ends)")
  }

  @Test func `a certificate that is not trusted ends the transfer, and one that is trusted does not`() async throws {
    let file = FalseFile(bytes)
    let server = try await FalseServer(identity: (TestCertificate.certificate, TestCertificate.key)) {
      file.answer(to: $0)
    }
    let ends = try await place.end(place.engine(), get(server))
    #expect(ends.first?.code == .untrustedCertificate)
    let other = try Workplace()
    try other.write(Array(TestCertificate.certificate.utf8), to: "certificates.pem")
    let engine = try other.engine { $0.trustedCertificates = other.path("certificates.pem") }
    let otherEnds = await other.end(engine, get(server))
    #expect(otherEnds.first?.file?.sha256 == bytes.sha256)
    await server.stop()
  }

  // MARK: Uploads

  @Test(arguments: [Transfer.Method.put, .post]) func `a file is sent, again if it was not accepted`(
    method: Transfer.Method
  ) async throws {
    try await serving(empty(503), empty(201)) { server, requests in
      try place.write(bytes, to: "source")
      let engine = try place.engine { $0.folders = [PathPattern(place.path("*"))!] }
      var transfer = Transfer(url: server.origin + "/f", method: method, file: place.path("source"))
      transfer.sha256 = bytes.sha256
      let ends = await place.end(engine, transfer)
      #expect(ends.first?.file?.sha256 == bytes.sha256)
      #expect(requests().map(\.body) == [bytes, bytes])
      #expect(requests().map(\.method) == [method.rawValue.uppercased(), method.rawValue.uppercased()])
      let names = requests().map { $0.fields["idempotency-key"] }
      #expect(names == (method == .post ? ["\"baton-7-0\"", "\"baton-7-0\""] : [nil, nil]))
      #expect(place.contents(of: "source") == bytes)
    }
  }

  @Test func `an upload follows a redirect with its whole file`() async throws {
    try await serving(empty(307, ("Location", "/g")), empty(204)) { server, requests in
      try place.write(bytes, to: "source")
      let engine = try place.engine { $0.folders = [PathPattern(place.path("*"))!] }
      let transfer = Transfer(url: server.origin + "/f", method: .put, file: place.path("source"))
      let ends = await place.end(engine, transfer)
      #expect(ends.first?.file != nil)
      #expect(requests().last?.path == "/g" && requests().last?.body == bytes)
    }
  }

  @Test func `a file that is not there, or not the one, is not sent`() async throws {
    try await serving(empty(201)) { server, requests in
      try place.write(bytes, to: "source")
      let engine = try place.engine { $0.folders = [PathPattern(place.path("*"))!] }
      var wrong = Transfer(url: server.origin + "/f", method: .put, file: place.path("source"))
      wrong.sha256 = Samples.hash
      let missing = Transfer(url: server.origin + "/f", method: .put, file: place.path("missing"))
      let folder = Transfer(url: server.origin + "/f", method: .put, file: place.path("transfers"))
      let ends = await place.end(engine, wrong, missing, folder)
      #expect(ends.map(\.code) == [.wrongHash, .file, .file])
      #expect(requests().isEmpty)
    }
  }

  // MARK: Rates

  @Test func `the rate of the host holds for all transfers together`() async throws {
    try await serving(whole()) { server, _ in
      let engine = try place.engine { $0.maxRate = 10_000 }
      let ends = await place.end(engine, get(server, to: "f"), get(server, to: "g"))
      #expect(ends.compactMap(\.file?.sha256) == [bytes.sha256, bytes.sha256])
      // 100,000 bytes, of which 2,500 are free. The last ones need not be paid for before the end. The clock goes on
      // for every sleeper, so it may show somewhat more; with half of the rate it would be 20 seconds.
      #expect(place.clock.time > .milliseconds(7000) && place.clock.time < .seconds(15))
    }
  }
}
