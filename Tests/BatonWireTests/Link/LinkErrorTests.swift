import ContractRows
import Foundation
import GRPCCore
import Testing

@testable import BatonWire

/// The errors of a client that finds no coordinator of its user.
@Suite struct LinkErrorTests {
  private static let endpoint = HostPort(host: "127.0.0.1", port: 7420)
  private static let folders = RuntimeFolders(paths: ["/none/baton"])

  @Test func `without a socket, the error says what to start, what else to do, and where it looked`() {
    let error = LinkError.noSocket(Self.endpoint, Self.folders)
    #expect(error.code == .unreachable)
    #expect(
      error.description
        == "no coordinator of this user listens at 127.0.0.1:7420: start one (baton coordinator, or baton up); for the "
        + "coordinator of another user or machine, log in (baton login) or let this host join (baton host invite). "
        + "Looked for /none/baton/7420.sock")
  }

  @Test func `without a token, the error says how there is one again`() {
    let error = LinkError.noToken(Self.endpoint, Self.folders)
    #expect(error.code == .notPermitted)
    #expect(
      error.description
        == "there is no token for the coordinator at 127.0.0.1:7420: start the coordinator again, and it publishes its "
        + "token again, or set BATON_TOKEN_FILE to its token file. Looked for /none/baton/7420.token")
  }

  @Test(.refuses(1), arguments: ["base.example:7420", "192.0.2.7:7420", "[2001:db8::7]:7420"])
  func `an address of another machine is not connected to without a login`(text: String) async throws {
    let endpoint = try HostPort(parsing: text)
    let error = await #expect(throws: LinkError.self) {
      try await CoordinatorClient.withClient(endpoint, tokenFile: nil, folders: Self.folders) { _, _ in }
    }
    #expect(error?.code == .notPermitted)
    #expect(error?.description.contains("baton login") == true)
  }

  @Test func `a coordinator that ends before the first call is one that does not answer`() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/baton-link-" + UUID().uuidString.prefix(8)
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let listener = try listening(at: "\(folder)/\(Self.endpoint.port).sock")
    defer { close(listener) }
    let token = try TokenFile.own(dataFolder: folder)
    try TokenFile.publish(token, port: Self.endpoint.port, in: folder)
    let error = await #expect(throws: LinkError.self) {
      try await CoordinatorClient.withClient(Self.endpoint, tokenFile: nil, folders: RuntimeFolders(paths: [folder])) {
        _, _ in throw RuntimeError(code: .clientIsStopped, message: "what gRPC throws then")
      }
    }
    #expect(error?.code == .unreachable)
  }

  private func listening(at path: String) throws -> Int32 {
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0 && listen(listener, 1) == 0)
    return listener
  }
}
