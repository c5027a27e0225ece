import Testing

@testable import BatonPostgres

@Suite struct LibraryTests {
  @Test func `a library that is not there is named, with what to install`() throws {
    let error = try postgresError(.libraryMissing) { _ = try PostgresLibrary.load(named: "libpq-missing.so.5") }
    #expect(error.message.contains("libpq-missing.so.5"))
    #expect(error.message.contains("install"))
  }

  @Test(.enabled(if: PostgresLibrary.isInstalled, "libpq is not installed"))
  func `a library without pipeline mode is too old`() throws {
    #if os(Linux)
      let other = "libdl.so.2"
    #else
      let other = "libz.1.dylib"
    #endif
    let error = try postgresError(.libraryMissing) { _ = try PostgresLibrary.load(named: other) }
    #expect(error.message.contains("too old"))
    #expect(error.message.contains("version 14"))
  }

  @Test(.enabled(if: PostgresLibrary.isInstalled, "libpq is not installed"))
  func `the library is loaded once`() throws {
    let functions = try PostgresLibrary.load().functions
    #expect(try PostgresLibrary.load().functions == functions)
    #expect(try PostgresLibrary.load().version >= 140_000)
  }
}
