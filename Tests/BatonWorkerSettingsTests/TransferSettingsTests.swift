import BatonModel
import BatonProcess
import BatonSettings
import BatonTransfers
import BatonWorkerSettings
import Foundation
import Testing

@Suite struct TransferSettingsTests {
  private func read(_ yaml: String, environment: [String: String] = [:]) async throws -> TransferSettings? {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("worker-\(UUID()).yaml").path
    try Data(yaml.utf8).write(to: URL(fileURLWithPath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    var flags = WorkerSettings.Flags()
    flags.config = file
    return try await WorkerSettings(
      flags, environment: ["XDG_STATE_HOME": "/data"].merging(environment) { $1 }, hostName: "desk", cores: 4
    ).transfers
  }

  @Test func `a host has transfers in its data folder, unless its owner switches them off`() async throws {
    let usual = try #require(try await read(""))
    #expect(usual.folder == "/data/baton/worker/desk/transfers")
    #expect(usual.quota == 100 << 30 && usual.minFree == 1 << 30 && usual.maxRate == nil && usual.atOnce == 4)
    #expect(usual.folders.isEmpty && usual.servers == nil && usual.secretPermissions.isEmpty)
    #expect(usual.variablePermissions.isEmpty && !usual.isConstrained && usual.trustedCertificates == nil)
    #expect(try await read("transfers: {enabled: false}") == nil)
    #expect(try await read("", environment: ["BATON_TRANSFERS_ENABLED": "false"]) == nil)
  }

  @Test func `every key is taken`() async throws {
    let yaml = """
      transfers:
        folder: /srv/transfers
        quota: 5GB
        minFree: 0
        maxRate: 1MiB
        atOnce: 9
        folders: [/srv/photos/**]
        servers: [Files.example.com, "*.example.org"]
        variables: {TOKEN: com.example.a com.example.b.*}
        constrainedNetwork: true
        certificates: /etc/authorities.pem
      allow: {secrets: {api/token: com.example.a}}
      secrets: {folder: /etc/secrets}
      """
    let settings = try #require(try await read(yaml))
    #expect(settings.folder == "/srv/transfers" && settings.quota == 5_000_000_000 && settings.minFree == 0)
    #expect(settings.maxRate == 1 << 20 && settings.atOnce == 9)
    #expect(settings.folders.map(\.rawValue) == ["/srv/photos/**"])
    #expect(settings.servers == ["files.example.com", "*.example.org"])
    #expect(settings.isConstrained && settings.trustedCertificates == "/etc/authorities.pem")
    #expect(settings.secrets.path == "/etc/secrets")
    let pattern = try #require(IdentifierPattern("com.example.b.c"))
    #expect(settings.variablePermissions.map { $0.permits("TOKEN", to: pattern) } == [true])
    let other = try #require(IdentifierPattern("com.example.a"))
    #expect(settings.secretPermissions.map { $0.permits("api/token", to: other) } == [true])
  }

  @Test(arguments: [
    ("folder: here", "transfers.folder", "absolute path"), ("quota: 7", "transfers.quota", "7GiB"),
    ("quota: 0", "transfers.quota", "size"), ("minFree: some", "transfers.minFree", "8GiB"),
    ("maxRate: fast", "transfers.maxRate", "8GiB"), ("atOnce: 0", "transfers.atOnce", "from 1 to 100"),
    ("folders: [srv]", "transfers.folders", "absolute path"),
    ("servers: [\"https://a.example\"]", "transfers.servers", "no port"),
    ("servers: [\"a.example:80\"]", "transfers.servers", "no port"),
    ("servers: [\"*\"]", "transfers.servers", "'*.'"),
    ("variables: {\"a b\": com.example.a}", "transfers.variables", "a b"),
    ("variables: {TOKEN: \"\"}", "transfers.variables", "no identifiers"),
    ("variables: {TOKEN: com.*.a}", "transfers.variables", "com.*.a"),
    ("certificates: a.pem", "transfers.certificates", "absolute path"), ("enabled: maybe", "transfers.enabled", "true"),
    ("constrainedNetwork: 5", "transfers.constrainedNetwork", "true"), ("quotas: 1GiB", "transfers.quotas", "quota"),
  ]) func `a wrong value says which key it is and what it may be`(yaml: String, key: String, says: String) async throws
  {
    let error = try await #require(throws: SettingsError.self) { _ = try await read("transfers: {\(yaml)}") }
    #expect(error.message.contains(key) && error.message.contains(says), "\(error.message)")
  }

  @Test func `a folder whose socket would have too long a path is refused where it is named`() async throws {
    let folder = "/" + String(repeating: "a", count: 120)
    let error = try await #require(throws: SettingsError.self) { _ = try await read("transfers: {folder: \(folder)}") }
    #expect(error.message.contains("128 bytes"))
    // A data folder of such a length is none of the transfers' business: the host has no transfers then.
    #expect(try await read("data: \(folder)")?.problem != nil)
  }
}
